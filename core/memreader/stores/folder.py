"""The folder of a store: private, and on a disk of this machine."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath

from memreader.errors import NetworkFolderError, StoreCorruptError, StoreReadOnlyError
from memreader.stores.failures import COMPANIONS, forbidden

_log = logging.getLogger(__name__)

NETWORK = frozenset(
    "afpfs afs auristorfs beegfs ceph cifs coda davfs fhgfs gfs2 glusterfs gpfs lustre ncp ncpfs nfs nfs4 ocfs2 "
    "orangefs panfs pvfs2 smb2 smb3 smbfs webdav".split()
)
"""Types of file systems that several machines share."""
NETWORK_FUSE = frozenset(
    "afpfs beegfs blobfuse blobfuse2 ceph ceph-fuse curlftpfs davfs davfs2 gcsfuse glusterfs goofys juicefs lustre mfs "
    "moosefs mount-s3 mountpoint-s3 nfs rclone s3fs seaweedfs smbnetfs sshfs webdav".split()
)
"""The same, of those that a program serves; their type is "fuse." and one of these."""


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a file system is seen, and of which type it is."""

    point: str
    filesystem: str


def prepare(folder: Path, mountinfo: str | None = None) -> Path:
    """Return the real path of the folder, which is there; one that this call makes is of mode 0700, whatever the umask.

    A folder that was there keeps its mode, since it may be a home or shared; others having access to it is logged. It
    may be reached by a link, which is followed once, here. `mountinfo`: as of `network_mount`.

    Raises:
        NotADirectoryError: It is a file.
        NetworkFolderError: It is on a file system that other machines share; nothing was made.
        OSError: As the system says.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a memory is kept in a folder, this is a file", str(folder))
    real = folder.resolve()
    mount = network_mount(real, mountinfo)
    if mount is not None:
        raise NetworkFolderError(path=str(real), filesystem=mount.filesystem, mount_point=mount.point)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        real.mkdir(mode=0o700)
    except FileExistsError:
        _warn_if_open(real)
    else:
        real.chmod(0o700)
    return real


def check_files(path: Path) -> None:
    """Refuse a database that can't be one, and what can't be a file that SQLite puts beside it.

    Raises:
        StoreCorruptError: One of them is a folder, or a link: what is written to a store stays in its folder.
        StoreReadOnlyError: One of them, or the folder, must not be written to by this user.
    """
    for file in _files(path):
        if file.is_symlink() or file.is_dir():
            kind = "a link" if file.is_symlink() else "a folder"
            raise StoreCorruptError(path=str(path), detail=f"{file.name} is {kind}, not a file")
    problem = forbidden(path)
    if problem is not None:
        raise StoreReadOnlyError(path=str(path), detail=problem)


def tighten(path: Path) -> None:
    """Take away everybody else's rights to the database file and those beside it."""
    if os.name == "nt":
        return
    for file in _files(path):
        try:
            if stat.S_IMODE(file.stat().st_mode) != 0o600:
                file.chmod(0o600)
        except FileNotFoundError:
            continue
        except PermissionError:
            _log.warning("%s belongs to another user, who may let others read it", file)


def network_mount(path: Path, mountinfo: str | None = None) -> Mount | None:
    """Return the file system that several machines share and that `path`, a real path, is on; None for a local one.

    Args:
        mountinfo: Text as in Linux's /proc/self/mountinfo, which is read when None. Where there is none, nothing is
            known of the file systems, but for Windows' shares and network drives.
    """
    if os.name == "nt" and _is_remote(path):
        return Mount(path.drive, "a Windows network share")
    if mountinfo is None:
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    mount = mount_of(path, mountinfo)
    return mount if mount is not None and is_network(mount.filesystem) else None


def mount_of(path: PurePath, mountinfo: str) -> Mount | None:
    """Return the mount that `path`, absolute and without links, is on; of several at one point the last."""
    best: Mount | None = None
    for line in mountinfo.splitlines():
        fields, separator, rest = line.partition(" - ")
        before, after = fields.split(" "), rest.split(" ")
        if not separator or len(before) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), before[4])
        if path.is_relative_to(point) and (best is None or len(point) >= len(best.point)):
            best = Mount(point, after[0])
    return best


def is_network(filesystem: str) -> bool:
    """Return whether several machines share file systems of this type.

    >>> [is_network(kind) for kind in ("nfs4", "fuse.sshfs", "ext4", "fuse.mergerfs")]
    [True, True, False, False]
    """
    kind, _, served = filesystem.lower().partition(".")
    return served in NETWORK_FUSE if kind in ("fuse", "fuseblk") and served else kind in NETWORK


def is_share(path: PureWindowsPath) -> bool:
    r"""Return whether a Windows path names a share of a machine, not a drive of this one.

    >>> [is_share(PureWindowsPath(path)) for path in (r"\\server\mem", r"\\?\UNC\server\mem", r"C:\mem", r"\\?\C:\mem")]
    [True, True, False, False]
    """
    drive = path.drive
    if drive.startswith(("\\\\?\\", "\\\\.\\")):
        return drive[4:].upper().startswith("UNC\\")
    return drive.startswith("\\\\")


def _is_remote(path: Path) -> bool:
    if is_share(PureWindowsPath(path)):
        return True
    if sys.platform == "win32":
        import ctypes

        remote = 4  # DRIVE_REMOTE
        return bool(ctypes.windll.kernel32.GetDriveTypeW(path.anchor) == remote)
    return False


def _warn_if_open(folder: Path) -> None:
    if os.name != "nt" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        _log.warning(
            "the folder %s was there and lets other users in. The memory's files in it are private; better give them a "
            "folder of their own, or take the others' rights away: chmod 700",
            folder,
        )


def _files(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in COMPANIONS]
