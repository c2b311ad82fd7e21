"""C and C++: headers, beside the file that includes them or below a folder of headers."""

from collections.abc import Iterator
from functools import cached_property

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.repository_tree import RepositoryTree
from idea_explorer.tools.code.resolving.paths import folder_of, nearest, normalize

# Of the C library and POSIX: in angle brackets they are the system's, even if the repository has one too.
_SYSTEM = frozenset(
    "aio.h arpa/inet.h assert.h complex.h cpio.h ctype.h dirent.h dlfcn.h errno.h fcntl.h fenv.h float.h"
    " fmtmsg.h fnmatch.h ftw.h glob.h grp.h iconv.h inttypes.h iso646.h langinfo.h libgen.h limits.h"
    " locale.h malloc.h math.h memory.h monetary.h mqueue.h ndbm.h net/if.h netdb.h netinet/in.h"
    " netinet/tcp.h nl_types.h poll.h pthread.h pwd.h regex.h sched.h search.h semaphore.h setjmp.h"
    " signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h"
    " stdnoreturn.h string.h strings.h stropts.h sys/ipc.h sys/mman.h sys/msg.h sys/param.h"
    " sys/resource.h sys/select.h sys/sem.h sys/shm.h sys/socket.h sys/stat.h sys/statvfs.h sys/time.h"
    " sys/times.h sys/types.h sys/uio.h sys/un.h sys/utsname.h sys/wait.h syslog.h tar.h termios.h"
    " tgmath.h threads.h time.h trace.h uchar.h ulimit.h unistd.h utime.h utmpx.h wchar.h wctype.h"
    " windows.h wordexp.h".split()
)


class Headers:
    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree

    def resolve(self, importer: str, imported: Import) -> Iterator[str]:
        is_system = imported.spec.startswith("<")
        name = imported.spec.strip('"<> ')
        if is_system and name in _SYSTEM:
            return
        beside = normalize(folder_of(importer), name)
        if not is_system and beside and self._tree.entry(beside):
            yield beside
            return
        inner = normalize("", name) or name.rpartition("../")[2]
        named = self._headers.get(inner.rpartition("/")[2], ())
        found = [path for path in named if f"/{path}".endswith(f"/{inner}") and path != importer]
        yield from nearest(found, importer)[:1] if found else ()

    def last_segments(self, path: str) -> set[str]:
        return {*module_segments(path)[-1:]}

    @cached_property
    def _headers(self) -> dict[str, list[str]]:
        """By their file name. What is included is a header by that alone."""
        headers: dict[str, list[str]] = {}
        for entry in self._tree.entries_below(""):
            headers.setdefault(entry.name, []).append(entry.path)
        return headers
