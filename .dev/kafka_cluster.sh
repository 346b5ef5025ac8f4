# Private Kafka clusters of this checkout: three nodes that are broker and controller each, one folder a node (NAME-1 to NAME-3 among those of
# kafka.sh), with small heaps. For faults that one broker cannot have: a leader that moves, too few replicas (docs/contribute/chaos.md).
kafka_nodes=(1 2 3)

kafka_cluster_create() {  # NAME
  local name=$1 n which id voters='' taken=' ' port dir
  local -A client=() controller=()
  with_lock setup kafka_install
  for n in "${kafka_nodes[@]}"; do
    for which in client controller; do
      port=$(pg_free_port)
      while [[ $taken = *" $port "* ]]; do port=$(pg_free_port); done
      taken+="$port "
      if [ $which = client ]; then client[$n]=$port; else controller[$n]=$port; fi
    done
    voters+=${voters:+,}$n@127.0.0.1:${controller[$n]}
  done
  id=$(kafka_new_id)
  for n in "${kafka_nodes[@]}"; do
    dir=$(server_dir kafka "$name-$n")
    private_folder "$dir"
    echo "${client[$n]}" >"$dir/port"
    cat >"$dir/server.properties" <<CONF
process.roles=broker,controller
node.id=$n
controller.quorum.voters=$voters
listeners=PLAINTEXT://127.0.0.1:${client[$n]},CONTROLLER://127.0.0.1:${controller[$n]}
advertised.listeners=PLAINTEXT://127.0.0.1:${client[$n]}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$dir/log
$(kafka_common_conf 3)
# Who is gone is known after seconds; leaders move when somebody asks for it, and never by themselves later.
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1500
replica.lag.time.max.ms=5000
auto.leader.rebalance.enable=false
CONF
    kafka_format "$dir" "$id"
  done
}

# Nodes wait for each other: those that do not run are started at the same time.
kafka_cluster_start() {  # NAME NODE...
  local name=$1 n starting=(); shift
  [ -f "$(server_dir kafka "$name-${kafka_nodes[-1]}")/server.properties" ] || with_lock "kafka-$name" kafka_cluster_create "$name"
  export ACL_KAFKA_HEAP=${ACL_KAFKA_HEAP:--Xms128m -Xmx256m}
  for n in "$@"; do server_start kafka "$name-$n" & starting+=($!); done
  for n in "${starting[@]}"; do wait "$n" || die "the cluster $name does not start"; done
}

kafka_cluster_url() {  # NAME
  local n all=''
  for n in "${kafka_nodes[@]}"; do all+=${all:+,}127.0.0.1:$(cat "$(server_dir kafka "$1-$n")/port"); done
  echo "$all"
}

# kafka cluster [start|stop|kill|freeze|thaw|wipe|url|remove|tool] [NAME] [NODE]. start prints the addresses of all three; NODE: that one alone.
# freeze and thaw are SIGSTOP and SIGCONT; wipe deletes what a node that does not run has of topics whose names begin with the word that follows.
kafka_cluster() {
  local action=${1:-start} name=${2:-test} n pid nodes=("${kafka_nodes[@]}")
  server_dir kafka "$name" >/dev/null
  shift $(($# > 2 ? 2 : $#))
  if [ $# -gt 0 ] && [ "$action" != tool ]; then
    [[ " ${kafka_nodes[*]} " = *" $1 "* ]] || die "kafka cluster: there is no node \"$1\"; there are: ${kafka_nodes[*]}"
    nodes=("$1"); shift
  fi
  case $action in
    start) need fleet; kafka_cluster_start "$name" "${nodes[@]}"; kafka_cluster_url "$name" ;;
    url) kafka_cluster_url "$name" ;;
    tool) kafka_tool "$(kafka_cluster_url "$name")" "$@" ;;
    stop | kill | remove)
      for n in "${nodes[@]}"; do
        case $action in
          stop) server_end kafka "$name-$n" TERM & ;;   # each waits for another that takes over
          kill) server_end kafka "$name-$n" KILL ;;
          remove) server_remove kafka "$name-$n" ;;
        esac
      done
      wait ;;
    freeze | thaw)
      for n in "${nodes[@]}"; do
        server_must_run kafka "$name-$n"
        pid=$(server_pid kafka "$(server_dir kafka "$name-$n")")
        kill "-$([ "$action" = freeze ] && echo STOP || echo CONT)" "$pid"
      done ;;
    wipe)
      [[ ${1:-} =~ ^[A-Za-z0-9._-]+$ ]] || die "kafka cluster wipe NAME NODE BEGINNING: the beginning of the topics' names"
      for n in "${nodes[@]}"; do
        [ -z "$(server_pid kafka "$(server_dir kafka "$name-$n")")" ] || die "kafka cluster: node $n runs: what it has is not taken away under its feet"
        compgen -G "$(server_dir kafka "$name-$n")/log/$1*" >/dev/null || die "kafka cluster: node $n has nothing of $1"
        rm -rf "$(server_dir kafka "$name-$n")/log/$1"*
      done ;;
    *) die "kafka cluster: unknown action \"$action\"; there are: start stop kill freeze thaw wipe url remove tool" ;;
  esac
}
