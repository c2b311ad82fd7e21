"""Certificates, which are loaded for the first connection that is secured."""

import ssl
from concurrent.futures import ThreadPoolExecutor

from idea_explorer.adapters.http.clients import _LazyContext, certificates


def test_clients_share_certificates_that_are_loaded_once_and_when_they_are_used() -> None:
    loaded: list[ssl.SSLContext] = []

    def load() -> ssl.SSLContext:
        loaded.append(ssl.create_default_context())
        return loaded[-1]

    context = _LazyContext(load)
    assert isinstance(context, ssl.SSLContext)  # httpx2 takes nothing else
    assert loaded == []
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: context.set_alpn_protocols(["http/1.1"]), range(8)))
    secured = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="example.com")

    assert len(loaded) == 1
    assert secured.context is loaded[0]
    assert secured.context.verify_mode == ssl.CERT_REQUIRED
    assert certificates() is certificates()
