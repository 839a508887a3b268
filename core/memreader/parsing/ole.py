"""Names of the streams in an OLE compound file (doc, xls, ppt, msg, and office files locked by a password)."""

from __future__ import annotations

import struct

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER = 512
_IN_HEADER = 109
_ENTRY = 128
_MAX_ENTRIES = 4096


def stream_names(data: bytes) -> frozenset[str]:
    """Return the names in the directory of the OLE file, those inside nested storages too, at most 4,096.

    Layout: [MS-CFB] 2.2 (header), 2.3 (FAT), 2.6 (directory). A cut or broken file gives the names read so far.
    """
    names: set[str] = set()
    try:
        shift = struct.unpack_from("<H", data, 30)[0]
        size = 1 << shift if 9 <= shift <= 12 else 512
        table = struct.unpack_from(f"<{_IN_HEADER}I", data, 76)
        sector = struct.unpack_from("<I", data, 48)[0]
        for _ in range(_MAX_ENTRIES * _ENTRY // size):
            start = (sector + 1) * size
            for at in range(start, start + size, _ENTRY):
                length = struct.unpack_from("<H", data, at + 64)[0]
                names.add(data[at : at + min(max(length - 2, 0), 62)].decode("utf-16-le", "replace"))
            block, place = divmod(sector, size // 4)
            if block >= _IN_HEADER:
                break
            sector = struct.unpack_from("<I", data, (table[block] + 1) * size + place * 4)[0]
    except struct.error:
        pass
    return frozenset(names - {""})
