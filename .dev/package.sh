# ./dev package: what a release hands out, under build/package: acl-fleet_VERSION_amd64.deb, and an archive that may be unpacked anywhere.
# ./dev package test: installs both in a bare Debian 12 of their own (a chroot without a network but its own loopback), and does there what
# docs/getting-started.md tells a new user, word for word.
packages_package=(dpkg-dev fakeroot file git)
packages_package_test=(debootstrap util-linux iproute2 systemd)

# The version grows with each commit, so that apt takes a newer package for newer.
package_version() {
  local version
  version=$(sed -n 's/^project(acl VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  if git rev-parse --verify --quiet HEAD >/dev/null; then version+="+r$(git rev-list --count HEAD).g$(git rev-parse --short=12 HEAD)"; fi
  echo "$version"
}

package_build() {  # PRESET
  local preset=$1 out=build/package version
  need package
  if [ "$preset" = dev ]; then build_binaries; else build "$preset" "${binaries[@]}"; fi
  version=$(package_version)
  rm -rf "$out" && mkdir -p "$out"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s) cpack --config "build/$preset/CPackConfig.cmake" -B "$top/$out" \
    -D CPACK_PACKAGE_VERSION="$version" -D CPACK_PACKAGE_FILE_NAME="acl-fleet-$version-linux-$(uname -m)" >"$local_dir/package.log" 2>&1 ||
    { tail -n 20 "$local_dir/package.log" >&2; die "cpack failed; its log: .local/package.log"; }
  rm -rf "$out/_CPack_Packages"
  package_checks "$out"
  ls "$out"/*.deb "$out"/*.tar.gz
}

# What can be said of the packages without installing them.
package_checks() {  # FOLDER
  local out=$1 root=$local_dir/package-root file
  rm -rf "$root" && mkdir -p "$root/deb" "$root/tar"
  dpkg-deb --extract "$out"/*.deb "$root/deb"
  tar -C "$root/tar" -xzf "$out"/*.tar.gz
  for file in "$root"/deb/usr/bin/* "$root"/tar/*/bin/*; do
    ! grep -qaF "$top/" "$file" || die "package: ${file##*/} names the folder it was built in"
    "$file" --version >/dev/null || die "package: ${file##*/} does not run"
  done
  dpkg-deb --field "$out"/*.deb Depends | grep -q 'libpq5\|libpqxx' || die "package: the .deb does not name the libraries that it needs"
  [ -z "$(find "$root/deb" \( -perm -o+w ! -type l \) -o -perm /6000)" ] || die "package: there is a file in it that everybody may write, or one that changes its user"
  if command -v systemd-analyze >/dev/null; then
    for file in coordinator worker; do package_unit "$root/deb" "acl-$file.service"; done
  fi
  rm -rf "$root"
}

# Sound for systemd, and its exposure (0 to 10: the less a process may do, the lower) at most 3.5.
package_unit() {  # ROOT UNIT
  local unit=$1/usr/lib/systemd/system/$2 told
  told=$(systemd-analyze verify --man=no --root="$1" "$unit" 2>&1 | grep -F "$2" | grep -v 'Failed to create .*/start: Unit .* not found' || true)   # systemd's own units are not there
  [ -z "$told" ] || die "package: systemd-analyze verify: $told"
  told=$(systemd-analyze security --offline=true --no-pager --threshold=35 "$unit" 2>&1) || die "package: $2 may do too much: ${told##*$'\n'}"
}

package_test() {
  local root=$local_dir/package-chroot base=$cache_dir/debian-bookworm code=0
  [ "$(id -u)" = 0 ] || die "package test: needs root, for a chroot"
  need package_test
  mkdir -p "$cache_dir"
  with_lock setup package_base "$base"
  rm -rf --one-file-system "$root" && cp -a "$base" "$root"
  # The way to Debian's packages is this machine's: resolver, settings of apt, certificates.
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  rm -rf "$root/etc/apt" && cp -a /etc/apt "$root/etc/"
  rm -f "$root/etc/apt/apt.conf.d/"docker-* "$root/etc/apt/apt.conf.d/"*packagekit "$root/etc/apt/apt.conf.d/"*appstream
  mkdir -p "$root/srv/package" "$root/usr/local/share/ca-certificates"
  cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
  cp /etc/ssl/certs/ca-certificates.crt "$root/srv/package/ca.crt"
  cp build/package/*.deb build/package/*.tar.gz docs/getting-started.md tests/package/* "$root/srv/package/"
  local version
  version=$(git rev-parse --short=12 HEAD)
  for phase in install first-day; do
    unshare --mount --pid --fork --kill-child $([ $phase = install ] || echo --net) bash -c '
      set -e; root=$1 phase=$2; commit=$3
      mount --make-rprivate /; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
      [ "$phase" = install ] || ip link set lo up
      exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive SSL_CERT_FILE=/srv/package/ca.crt ACL_TEST_COMMIT="$commit" bash "/srv/package/$phase"' _ "$root" "$phase" "$version" </dev/null || { code=$?; break; }
  done
  [ -n "${ACL_PACKAGE_KEEP:-}" ] || rm -rf --one-file-system "$root"
  [ $code = 0 ] || die "package test: failed in phase $phase (ACL_PACKAGE_KEEP=1 keeps the chroot: .local/package-chroot)"
  echo "package: ok"
}

# A bare Debian 12, made once for every checkout.
package_base() {
  [ -x "$1/bin/sh" ] && return 0
  local mirror
  mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  say "making a bare Debian 12 (once)"
  rm -rf "$1.new"
  debootstrap --variant=minbase --include=ca-certificates,sudo bookworm "$1.new" ${mirror:+"$mirror"} >"$local_dir/debootstrap.log" 2>&1 ||
    { tail -n 5 "$local_dir/debootstrap.log" >&2; die "debootstrap failed; its log: .local/debootstrap.log"; }
  mv "$1.new" "$1"
}

cmd_package() {
  local what=build preset=release
  while [ $# -gt 0 ]; do
    case $1 in
      test) what=test ;;
      --preset) preset=${2:?"--preset dev or release"}; shift ;;
      *) die "package: unknown argument \"$1\"; usage: ./dev package [test] [--preset dev]" ;;
    esac
    shift
  done
  [[ " release dev " = *" $preset "* ]] || die "package: --preset is release or dev"
  with_lock package package_build "$preset"
  [ $what = build ] || with_lock package package_test
}
