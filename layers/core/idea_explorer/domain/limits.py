"""The numbers of the product, each with its reason."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

MAX_IDEA = 10_000
MAX_CONTEXT = 50_000
MAX_SECRET = 256
MAX_FILES = 20
MAX_UPLOAD_BYTES = 20 * 1024 * 1024
MAX_FILE_NAME = 200
MIN_DEADLINE_SECONDS = 60  # below this no useful report can be gathered and written
MAX_DEADLINE_SECONDS = 840  # Lambda ends at 900 s; a minute is left to settle
MAX_STEPS = 20
MAX_COST_USD = 2.0  # of a run whose request and settings set no limit: most runs cost less

KEY_SECONDS = 86_400  # a day: longer than any client goes on repeating a request

MAX_OUTPUT_TOKENS = 16_384  # of one answer, thinking included
THINKING_TOKENS = 2_048  # what a model thinks before it writes, at the effort for writing
MIN_OUTPUT_TOKENS = 2_048 + THINKING_TOKENS  # less than this holds no report and its thinking
MAX_SEARCHES_PER_CALL = 5
MAX_PAUSES = 3  # a paused turn is sent back this often before it is written up from the evidence

MAX_DOCUMENT_BYTES = 51_200  # 50 KB: about 12k tokens, the most a prompt should pay for one file
MAX_RESULT_CHARS = 200_000  # a tool result beyond this would crowd out the rest of the conversation
MAX_LOGGED_VALUE = 120  # enough to see what was asked, too little to leak a document
MAX_LOGGED_PATH = 400

MAX_PAGE_BYTES = 512_000  # 500 KB decoded: the text of a longer page is hardly ever further down
MAX_PDF_BYTES = 10 * 1024 * 1024  # a PDF is read whole or not at all; this is most of them
MAX_PAGE_CHARS = 100_000  # about 25k tokens, the most a prompt should pay for one page
PAGE_TOKENS = 8_000  # of a page that Anthropic opens: a long article
FETCH_SECONDS = 10.0  # for a page in all, redirects and the second try included
FILES_SECONDS = 60.0  # for the first search of all uploaded files; they are read once

Count = Annotated[int, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """The limits of the code toolset; a deployment may set its own."""

    max_file_bytes: Count = 1_048_576  # 1 MB: no larger file is read, searched or proposed
    max_read_lines: Count = 2_000
    # never more: it leaves room below MAX_RESULT_CHARS for JSON's escapes
    max_read_chars: Annotated[int, Field(gt=0, le=150_000)] = 150_000
    page_size: Count = 100
    max_matches: Count = 50
    max_counted: Count = 50_000  # a pattern that matches more often says nothing: counting stops
    max_match_chars: Count = 300  # a line of minified code would crowd out the others
    max_definitions: Count = 50
    max_importers: Count = 200
    max_files: Count = 100_000
    max_unpacked_bytes: Count = 1_073_741_824  # 1 GB: an archive that unpacks to more is refused
    kept_snapshots: Count = 4  # on disk, the most recently used ones
    max_kept_bytes: Count = 1_073_741_824  # all of them together, except that the newest one stays
