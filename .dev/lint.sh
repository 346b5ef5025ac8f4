# Formatting and static analysis. The house's own rules (include edges, clocks, sleeps ...) are tests: tests/unit/house.

cxx_files() {
  local folder
  for folder in shared coordinator worker cli tests chaos; do
    [ ! -d "$folder" ] || find "$folder" \( -name '*.h' -o -name '*.cc' \) -print0
  done | sort -z
}

fmt() {
  need lint
  cxx_files | xargs -0 -r -n 20 -P "$(jobs)" clang-format -i
}

lint_format() {
  local log=$local_dir/lint-format.log
  cxx_files | xargs -0 -r -n 20 -P "$(jobs)" clang-format --dry-run --Werror >"$log" 2>&1 && { say "lint: format is clean"; return 0; }
  grep ': error: ' "$log" | cut -d : -f 1 | sort | uniq -c >&2
  say "lint: the files above are not formatted; ./dev fmt does it"
  return 1
}

lint_scripts() {
  local file code=0
  for file in dev .dev/*.sh .ci/run; do bash -n "$file" || code=1; done
  return $code
}

# clang-tidy reads clang's own precompiled header, so a build folder of its own. It is given the batches that are compiled (cmake/modules.cmake):
# what their files all read is read once. What was once found clean is not looked at again until it, or a header it reads, changes; that is
# kept in the user's cache folder, by content, so a new clone of the same sources has nothing to do.
tidy_cache=${XDG_CACHE_HOME:-$HOME/.cache}/acl-tidy

tidy_prepare() {
  cmake --preset clang -B build/lint -DACL_TESTS=OFF >"$local_dir/configure-lint.log" 2>&1 ||
    { tail -n 20 "$local_dir/configure-lint.log" >&2; die "cmake failed; its log: .local/configure-lint.log"; }
}

tidy_one() {  # KEY FILE
  local out
  if out=$(nice clang-tidy -p build/lint --quiet "$2" 2>&1); then : >"$tidy_cache/$1"; return 0; fi
  grep -v ' warnings* generated\.$' <<<"$out"
  return 1
}

lint_tidy() {
  mkdir -p "$tidy_cache"
  find "$tidy_cache" -type f -mtime +60 -delete
  local todo=$local_dir/tidy-todo code=0
  tidy_prepare
  python3 .dev/tidy_keys.py | while read -r key file; do [ -f "$tidy_cache/$key" ] || echo "$key $file"; done >"$todo"
  [ -s "$todo" ] || { say "lint: clang-tidy is clean"; return 0; }
  say "lint: clang-tidy on $(wc -l <"$todo") batches of files"
  nice ninja -C build/lint -j "$(jobs)" --quiet lint_inputs >&2
  export -f tidy_one
  export tidy_cache
  xargs -r -L 1 -P "$(jobs)" bash -c 'tidy_one "$@"' _ <"$todo" >&2 || code=1
  [ $code -ne 0 ] || say "lint: clang-tidy is clean"
  return $code
}

# lint [format|tidy]: one part, or all.
lint() {
  need build lint
  local code=0 part=${1:-all}
  case $part in all | format | tidy) ;; *) die "lint: unknown part \"$part\"; there are: format tidy" ;; esac
  if [ "$part" != tidy ]; then
    lint_scripts || code=1
    lint_format || code=1
  fi
  [ "$part" = format ] || with_lock lint lint_tidy || code=1
  [ $code -eq 0 ] || die "lint: not clean"
}
