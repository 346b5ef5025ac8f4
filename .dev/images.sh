# ./dev images: the images of docker/ without Docker: what the Dockerfile would copy (docker/assemble.py), packed for any registry
# (docker/oci.py), under build/images. ./dev images test: runs them, without a right and on a root that cannot be written (tests/kube).
packages_images=(binutils python3 python3-yaml)
packages_images_test=(debootstrap skopeo)

images_version() { sed -n 's/^appVersion: *//p' helm/acl/Chart.yaml; }

# images_assemble PROGRAMS OUT VERSION: a root folder for each image, OUT/coordinator, OUT/worker, OUT/airun.
images_assemble() {
  local image
  rm -rf "$2" && mkdir -p "$2"
  for image in coordinator worker airun; do
    python3 -B docker/assemble.py $image "$1" "$2/$image" --version "$3" --commit "$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
  done
}

images_build() {  # PRESET
  local preset=$1 image version out=build/images told epoch
  need images
  if [ "$preset" = dev ]; then build_binaries; else build "$preset" "${binaries[@]}"; fi
  version=$(images_version)
  epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)
  images_assemble "build/$preset/bin" "$local_dir/images" "$version"
  mkdir -p "$out"
  for image in coordinator worker airun; do
    told=$(python3 -B docker/oci.py $image "$local_dir/images/$image" "$out/acl-$image-$version.oci.tar" --version "$version" \
      --commit "$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)" --epoch "$epoch")
    cp "$local_dir/images/$image/usr/share/sbom/acl.cdx.json" "$out/acl-$image-$version.cdx.json"
    printf '%-12s %5.1f MB, packed %5.1f MB  %s  %s\n' "$image" "$(jq '.files / 1e6' <<<"$told")" "$(jq '.packed / 1e6' <<<"$told")" \
      "$(jq -r .digest <<<"$told")" "$out/acl-$image-$version.oci.tar"
  done
}

# A Debian with python3, which is what the Dockerfile's target worker-debian begins with; made once for every checkout.
images_debian() {  # FOLDER
  [ ! -x "$1/usr/bin/python3" ] || return 0
  local mirror
  mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  say "making a bare Debian 12 with python3 (once)"
  rm -rf "$1.new"
  debootstrap --variant=minbase --include=ca-certificates,python3 bookworm "$1.new" ${mirror:+"$mirror"} >"$local_dir/debootstrap.log" 2>&1 ||
    { tail -n 5 "$local_dir/debootstrap.log" >&2; die "debootstrap failed; its log: .local/debootstrap.log"; }
  mv "$1.new" "$1"
}

# Docker's own reader of compose files.
compose_home() { echo "$cache_dir/compose-check-$(cat "$kube_source"/compose/* | sha256sum | cut -c 1-12)"; }
compose_build() {  # WORK
  local work=$1 bin
  bin=$(go_toolchain "$work" 1.24)
  cp -r "$kube_source/compose" "$work/module"
  (cd "$work/module" && go_env "$work" "$bin" go build -mod=readonly -p "$(jobs)" -ldflags='-s -w' -o "$work/compose-check" .)
}
compose_install() { go_install "compose-check" "$(compose_home)" compose-check compose_build; }

images_test() {  # PRESET
  local preset=$1 name=images-$$ code=0
  [ "$(id -u)" = 0 ] || die "images test: needs root, for containers"
  need images_test
  with_lock setup kube_tools_install
  with_lock setup compose_install
  mkdir -p "$cache_dir"
  with_lock setup images_debian "$cache_dir/debian-bookworm-python"
  images_assemble "build/$preset/bin" "$local_dir/images-again" "$(images_version)"
  trap 'pg remove "'"$name"'"' EXIT
  ACL_DATABASE_URL=$(pg start "$name") ACL_TEST_KUBE_TOOLS=$(kube_tools_home) ACL_TEST_COMPOSE=$(compose_home)/compose-check \
    ACL_TEST_IMAGES=$local_dir/images ACL_TEST_IMAGES_AGAIN=$local_dir/images-again ACL_TEST_OCI=$top/build/images \
    ACL_TEST_DEBIAN=$cache_dir/debian-bookworm-python python3 -B tests/kube/images_test.py || code=$?
  rm -rf "$local_dir/images-again"
  [ $code = 0 ] || die "images: not ok"
  echo "images: ok"
}

cmd_images() {
  local what=build preset=release
  while [ $# -gt 0 ]; do
    case $1 in
      test) what=test ;;
      --preset) preset=${2:?"--preset dev or release"}; shift ;;
      *) bad_usage images "images has no argument \"$1\"" ;;
    esac
    shift
  done
  [[ " release dev " = *" $preset "* ]] || bad_usage images "--preset is release or dev"
  with_lock images images_build "$preset"
  [ $what = build ] || with_lock images images_test "$preset"
}
