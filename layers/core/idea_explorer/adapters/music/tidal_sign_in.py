"""Tidal's access tokens: one serves many searches and is renewed before it expires, beside them."""

import threading
from base64 import b64encode
from collections.abc import Callable
from dataclasses import field

from pydantic import BaseModel, Field

from idea_explorer.adapters.http.json_client import JsonHttp
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import Clock
from idea_explorer.domain.errors import AuthFailedError, ExplorerError, RejectedError

AUTH_URL = "https://auth.tidal.com/v1"
EXPIRY_MARGIN_SECONDS = 60.0  # a token is not used so shortly before its end
RENEW_SECONDS = (
    600.0  # of the four hours that a token lasts; renewed while the old one still serves
)
SIGN_IN_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    client_id: str
    client_secret: str = field(repr=False)


class AccessToken(BaseModel):
    access_token: str = Field(min_length=1)
    expires_in: float = 0.0


class SignIn:
    """Keeps a token while it is valid. Credentials are read for each new token, so rotation works."""

    def __init__(
        self,
        credentials: Callable[[], ClientCredentials],
        clock: Clock,
        auth_url: str = AUTH_URL,
    ) -> None:
        self._credentials = credentials
        self._clock = clock
        self._http = JsonHttp("Tidal's sign-in", auth_url, headers={"Accept": "application/json"})
        self._token: tuple[str, float] | None = None
        self._signing_in = threading.Lock()
        self._renewal: threading.Thread | None = None

    def prepare(self) -> None:
        """Get a token in the background if there is none, or none that lasts."""
        if self._seconds_left() < RENEW_SECONDS:
            self._renew_in_background()

    def bearer(self) -> str:
        """A valid token. One that ends soon is renewed meanwhile; raises ExternalError."""
        if self._seconds_left() <= 0:
            with self._signing_in:
                if self._seconds_left() <= 0:
                    self._sign_in()
        else:
            self.prepare()
        assert self._token is not None
        return self._token[0]

    def forget(self, bearer: str) -> None:
        """Do not use this token again: Tidal refused it."""
        with self._signing_in:
            if self._token and self._token[0] == bearer:
                self._token = None

    def _seconds_left(self) -> float:
        token = self._token
        return token[1] - self._clock.monotonic() if token else 0.0

    def _renew_in_background(self) -> None:
        def renew() -> None:
            with self._signing_in:
                if self._seconds_left() < RENEW_SECONDS:
                    try:
                        self._sign_in()
                    except ExplorerError:
                        return  # the next search says what is wrong

        if self._renewal is None or not self._renewal.is_alive():
            self._renewal = threading.Thread(target=renew, name="tidal-sign-in", daemon=True)
            self._renewal.start()

    def _sign_in(self) -> None:
        given = self._credentials()
        basic = b64encode(f"{given.client_id}:{given.client_secret}".encode()).decode()
        began = self._clock.monotonic()
        try:
            token = self._http.call(
                AccessToken,
                "POST",
                "/oauth2/token",
                seconds=SIGN_IN_SECONDS,
                headers={"Authorization": f"Basic {basic}"},
                form={"grant_type": "client_credentials"},
            )
        except (AuthFailedError, RejectedError) as error:
            raise AuthFailedError(
                "Tidal refused the client credentials.",
                hint="Check TIDAL_CLIENT_ID and TIDAL_CLIENT_SECRET.",
            ) from error
        self._token = (token.access_token, began + token.expires_in - EXPIRY_MARGIN_SECONDS)
