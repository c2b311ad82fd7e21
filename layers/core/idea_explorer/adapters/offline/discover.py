"""The offline script for music: search by meaning, read the closest tracks, suggest a playlist."""

from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, Result, ToolUse, Turn
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.text import one_line

SCANNED = 12
READ_CLOSELY = 5
PLAYLIST = 8
FLAGS = {True: "owned", False: "not owned", None: "not known"}


def discover(conversation: Conversation) -> Turn:
    searched = conversation.answered("semanticSearch")
    if "semanticSearch" in conversation.tools and not conversation.results:
        query = conversation.idea[:2_000]
        return Turn(
            "Searching by meaning.",
            (ToolUse("semanticSearch", {"query": query, "limit": SCANNED}),),
        )
    tracks = [track for result in searched for track in _tracks(result)]
    isrcs = [text_of(track.get("isrc")) for track in tracks if track.get("isrc")]
    read = any(result.name == "batchMetadata" for result in conversation.results)
    if isrcs and not read and "batchMetadata" in conversation.tools:
        return Turn(
            "Reading the closest.", (ToolUse("batchMetadata", {"isrcs": [*isrcs[:READ_CLOSELY]]}),)
        )
    proposed = any(result.name == "suggestPlaylist" for result in conversation.results)
    if isrcs and not proposed and "suggestPlaylist" in conversation.tools:
        return Turn("Proposing a playlist.", (_playlist(conversation, tracks),))
    return Turn(_closing(conversation))


def _tracks(result: Result) -> list[JsonObject]:
    found = result.payload.get("tracks")
    return [track for track in found if isinstance(track, dict)] if isinstance(found, list) else []


def _playlist(conversation: Conversation, tracks: list[JsonObject]) -> ToolUse:
    chosen: list[JsonObject] = [
        {
            "isrc": track["isrc"],
            "title": track["title"],
            "artist": track["artist"],
            "reasoning": one_line(
                text_of(track.get("shortDescription")) or "Close in meaning.", 300
            ),
        }
        for track in tracks
        if track.get("isrc")
    ][:PLAYLIST]
    title = one_line(conversation.idea, 80).capitalize()
    return ToolUse("suggestPlaylist", {"title": title, "tracks": [*chosen]})


def _closing(conversation: Conversation) -> str:
    """The playlist as text too, because only the console shows the tool's result."""
    playlists = conversation.answered("suggestPlaylist")
    if not playlists:
        failed = [text_of(result.payload.get("message")) for result in conversation.failed()]
        why = f" {' '.join(failed)}" if failed else ""
        return (
            f"# Nothing found\n\n{NOTICE}\nNo indexed track is close to “{one_line(conversation.idea, 120)}”."
            f"{why} Index some with `idea index FILE.jsonl`."
        )
    playlist = playlists[-1]
    lines = [
        f"{number}. **{text_of(track.get('title'))}** by {text_of(track.get('artist'))}"
        f" ({_flag(track)}): {text_of(track.get('reasoning'))}"
        for number, track in enumerate(_tracks(playlist), start=1)
    ]
    title = text_of(playlist.payload.get("title"))
    return f"# {title}\n\n{NOTICE}\n" + "\n".join(lines)


def _flag(track: JsonObject) -> str:
    owned = track.get("inLibrary")
    return FLAGS[owned if isinstance(owned, bool) else None]
