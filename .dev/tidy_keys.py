"""Prints `KEY FILE` for each file that clang-tidy is run on (a batch of sources, or a source that stands alone): KEY changes when the file,
what it includes of ours, or the rules change.

So that `./dev lint` analyses again only what it has not yet found clean. Run from the root of the checkout, after build/lint is configured.
"""
import hashlib
import pathlib
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
texts = {str(p): p.read_text(encoding="utf-8") for top in ("shared", "coordinator", "worker", "cli", "build/lint/batches")
         for p in pathlib.Path(top).rglob("*") if p.suffix in (".h", ".cc")}
rules = pathlib.Path(".clang-tidy").read_text(encoding="utf-8")


def reached(path, seen):
    if path in texts and path not in seen:
        seen.add(path)
        for target in INCLUDE.findall(texts[path]):
            reached(target, seen)
    return seen


for path in sorted(texts):
    if path.startswith("build/") or path.endswith("/main.cc"):
        parts = [rules] + [name + "\n" + texts[name] for name in sorted(reached(path, set()))]
        print(hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32], path)
