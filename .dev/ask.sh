# ./dev ask "QUESTION": a small real language model, a fleet of its own that asks it (docs/guides/aegis.md), and one question; both stay up
# until ./dev down ask and ./dev llm stop ask.

cmd_ask() {  # [OPTION...] QUESTION
  local dir
  dir=$(fleet_dir ask)
  build_binaries
  llm start ask >/dev/null
  private_folder "$dir"
  (umask 077; [ -s "$dir/aegis.key" ] || head -c 32 /dev/urandom | base64 >"$dir/aegis.key")
  llm providers ask >"$dir/providers.json"
  export ACL_AEGIS_KERNEL_FILE=$top/examples/aegis/local-model.yaml ACL_AEGIS_PROVIDERS_FILE=$dir/providers.json ACL_AEGIS_KEY_FILE=$dir/aegis.key
  with_lock fleet-ask fleet_start ask
  . "$dir/env"
  "$top/build/dev/bin/airun" ask --as "${AIRUN_ACTOR:-${USER:-you}}" "$@"
}
