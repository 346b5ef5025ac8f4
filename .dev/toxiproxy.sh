# toxiproxy (a proxy that does to connections what networks do), built once from the Go module proxy into the user's cache folder (11 s, 11 MB).
toxiproxy_version=v2.12.0
toxiproxy_home=$cache_dir/toxiproxy-$toxiproxy_version

toxiproxy_build() {  # WORK
  local work=$1 bin
  bin=$(go_toolchain "$work" 1.24)
  go_env "$work" "$bin" env GOBIN="$work" go install -p "$(jobs)" -ldflags='-s -w' "github.com/Shopify/toxiproxy/v2/cmd/server@$toxiproxy_version" &&
    mv "$work/server" "$work/toxiproxy-server"
}

toxiproxy_install() { go_install "toxiproxy $toxiproxy_version" "$toxiproxy_home" toxiproxy-server toxiproxy_build; }
