# ./dev k8s [guide]: the chart on Kubernetes' own API server, controllers and scheduler, with nodes that run each container as a process in the root folder
# of its image (tests/kube/node), in a network namespace of its own. Helm 3 and 4: install, helm test, upgrade under load, rollback, migrations that
# fail, images that are not there, drained nodes, scaling 2 -> 20 -> 2 by the fleet's own metrics, uninstall. Ends with a table and `k8s: ok`.

# Images of this tree (0.1.0) and of the version to come (0.1.1: the programs of tests/versions), for upgrades.
k8s_images() {  # OUT
  local program next=$1/next-programs
  build dev "${binaries[@]}" acl-coordinator-next acl-worker-next airun-next
  images_assemble build/dev/bin "$1/0.1.0" 0.1.0
  mkdir -p "$next"
  for program in "${binaries[@]}"; do ln -sfn "$top/build/dev/bin/$program-next" "$next/$program"; done
  images_assemble "$next" "$1/0.1.1" 0.1.1
}

k8s_locked() {
  local dir=$local_dir/k8s code=0
  [ "$(id -u)" = 0 ] || die "k8s: needs root, for network namespaces and containers"
  need build run test kube
  with_lock setup kube_tools_install
  with_lock setup kube_crds_install
  with_lock setup kube_control_install
  rm -rf --one-file-system "$dir" && private_folder "$dir"
  chmod 711 "$dir"   # containers' user passes through
  k8s_images "$dir/images"
  export ACL_TEST_KUBE_TOOLS ACL_TEST_KUBE_CRDS ACL_TEST_KUBE_CONTROL ACL_TEST_ETCD ACL_TEST_PROMETHEUS ACL_TEST_K8S_DIR=$dir ACL_TEST_AIRUN=$top/build/dev/bin/airun
  ACL_TEST_KUBE_TOOLS=$(kube_tools_home) ACL_TEST_KUBE_CRDS=$(kube_crds_home) ACL_TEST_KUBE_CONTROL=$(kube_control_home)
  ACL_TEST_ETCD=$(debian_program etcd-server etcd) ACL_TEST_PROMETHEUS=$(debian_program prometheus prometheus)
  # Its own network, mounts and processes: whatever happens, nothing of it stays.
  unshare --net --mount --pid --fork --mount-proc --kill-child bash -c '
    ip link set lo up
    ACL_TEST_DATABASE_URL=$("$1/dev" pg start k8s) || exit 1
    ACL_TEST_GUIDE_DATABASE_URL=$("$1/dev" pg start k8s-guide) || exit 1
    export ACL_TEST_DATABASE_URL ACL_TEST_GUIDE_DATABASE_URL
    code=0
    python3 -B "$1/tests/kube/k8s_test.py" "${@:2}" || code=$?
    "$1/dev" pg remove k8s
    "$1/dev" pg remove k8s-guide
    exit $code' _ "$top" "$@" 9>&- || code=$?
  [ $code = 0 ] || die "k8s: not ok; what the pods said: .local/k8s/logs, what happened to them: .local/k8s/journal.jsonl"
}

cmd_k8s() {
  local one
  for one in "$@"; do [[ " helm3 helm4 guide " = *" $one "* ]] || bad_usage k8s "k8s has no part \"$one\"; there are: helm3 helm4 guide"; done
  with_lock k8s k8s_locked "$@"
}
