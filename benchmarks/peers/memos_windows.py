"""Times MemOS's chat windows. Run by the Python of `make bench-env PEER=memos`; knows nothing of memreader.

Reads {"messages", "max_tokens", "overlap"} as JSON from stdin, writes {"seconds", "windows", "estimated"} as its last
line; "estimated" is true where MemOS found no tiktoken and guesses token counts from characters.
"""

import importlib.util
import json
import sys
import time

from memos.mem_reader.simple_struct import SimpleStructMemReader  # type: ignore[import-not-found]
from memos.mem_reader.utils import count_tokens_text  # type: ignore[import-not-found]


def main() -> None:
    """Read, measure (the best of three), write."""
    task = json.load(sys.stdin)
    # The windows need neither of the models that the constructor asks for.
    reader = object.__new__(SimpleStructMemReader)
    reader._count_tokens = count_tokens_text
    reader.chat_window_max_tokens = task["max_tokens"]
    taken = []
    windows = 0
    for _ in range(3):
        start = time.process_time()
        windows = len(list(reader._iter_chat_windows(task["messages"], task["max_tokens"], task["overlap"])))
        taken.append(time.process_time() - start)
    estimated = importlib.util.find_spec("tiktoken") is None
    print(json.dumps({"seconds": min(taken), "windows": windows, "estimated": estimated}))


if __name__ == "__main__":
    main()
