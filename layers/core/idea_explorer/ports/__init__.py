"""What the engine needs from the outside. Adapters implement these protocols, and so do test fakes."""

from idea_explorer.domain.deadline import Clock
from idea_explorer.ports.admission import (
    Admission,
    Idempotency,
    Slots,
    Spend,
    StreamSlots,
    WaitingExploration,
)
from idea_explorer.ports.deployments import (
    Deployment,
    ExecutionInfo,
    LoggedError,
    StackInfo,
)
from idea_explorer.ports.model import EventSink, Log, Model, ModelAnswer, ModelRequest, Watcher
from idea_explorer.ports.queue import (
    DeadLetter,
    DeadLetters,
    Executions,
    Job,
    Jobs,
    Notices,
    Secrets,
    SecretStore,
    Webhooks,
    Workflow,
    WorkQueue,
)
from idea_explorer.ports.reading import (
    Checks,
    Document,
    DocumentInfo,
    DocumentPart,
    DocumentReader,
    DocumentText,
    FileInfo,
    FoundDocument,
    ResearchRepository,
    Snapshot,
    Symbols,
    UploadedFile,
    UploadedFiles,
    WebPage,
    WebPages,
)
from idea_explorer.ports.stores import (
    Approvals,
    EventLog,
    ExplorationPage,
    Explorations,
    Filter,
    NumberedEvent,
    Reports,
    Transcript,
    Transcripts,
    Upload,
    Uploads,
)
from idea_explorer.ports.writing import (
    BranchLease,
    Change,
    ChangeWriter,
    Publisher,
    PublishResult,
    PullRequests,
    ResearchIndex,
    Restorer,
    Reverter,
    RevertResult,
    Tree,
    WrittenAt,
)
