# Private Apache Kafka brokers of this checkout (KRaft, one node each), one a NAME: data, log and ports of their own. The jars come from Maven
# Central, once, into the user's cache folder. Clusters of three: kafka_cluster.sh.
kafka_version=4.1.2
kafka_home=$cache_dir/kafka-$kafka_version

kafka_install() {
  [ ! -f "$kafka_home/complete" ] || return 0
  need fleet
  local work log=$local_dir/kafka-install.log
  work=$(mktemp -d)
  say "fetching Apache Kafka $kafka_version from Maven Central"
  mvn -q -B -ntp -f "$top/.dev/kafka/pom.xml" -Dmaven.repo.local="$work/m2" -Dkafka.version=$kafka_version dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$work/libs" >"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; rm -rf "$work"; die "Maven failed; its log: $log"; }
  mkdir -p "$kafka_home"
  rm -rf "$kafka_home/libs" && mv "$work/libs" "$kafka_home/libs" && : >"$kafka_home/complete"
  rm -rf "$work"
}

kafka_java() {  # MAIN-CLASS ARG...
  exec java ${ACL_KAFKA_HEAP:--Xms192m -Xmx512m} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -Dorg.slf4j.simpleLogger.showDateTime=true -Dlog4j2.disable.jmx=true -cp "$kafka_home/libs/*" "$@"
}

kafka_common_conf() {  # COPIES of each partition: what every broker of ours has in its settings
  cat <<CONF
# Topics are made by \`airun queue init\`, never by accident.
auto.create.topics.enable=false
num.partitions=6
default.replication.factor=$1
min.insync.replicas=$((($1 + 1) / 2))
offsets.topic.replication.factor=$1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=$1
transaction.state.log.min.isr=$((($1 + 1) / 2))
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=$1
share.coordinator.state.topic.min.isr=$((($1 + 1) / 2))
group.initial.rebalance.delay.ms=0
# A killed broker comes back as soon as its session has ended.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.dedupe.buffer.size=20971520
log.segment.bytes=67108864
CONF
}

kafka_mark() { echo "$1/server.properties"; }

# 16 random bytes as Kafka writes ids; one that begins with '-' would be taken for an option.
kafka_new_id() { echo "K$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | cut -c 2-22)"; }

kafka_format() {  # DIR ID-OF-CLUSTER
  (kafka_java kafka.tools.StorageTool format --ignore-formatted -t "$2" -c "$1/server.properties") >"$1/format.log" 2>&1 ||
    { tail -n 10 "$1/format.log" >&2; rm -rf "$1"; die "Kafka cannot be formatted"; }
}

kafka_create() {  # DIR
  local dir=$1 controller
  mkdir -p "$dir"
  pg_free_port >"$dir/port"
  pg_free_port >"$dir/tls-port"
  pg_free_port >"$dir/byway-port"
  pg_free_port >"$dir/byway-told"
  controller=$(pg_free_port)
  # A second listener speaks TLS and shows a certificate of its own. A third, the byway, sends its clients to a port where somebody else
  # listens and passes on what they say (a proxy that makes trouble): a broker's address is what it tells, not what was asked.
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$dir/key.pem" -out "$dir/certificate.pem" 2>"$dir/openssl.log" || { cat "$dir/openssl.log" >&2; rm -rf "$dir"; die "openssl cannot make a certificate"; }
  cat "$dir/key.pem" "$dir/certificate.pem" >"$dir/keystore.pem"
  cat >"$dir/server.properties" <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$(cat "$dir/port"),SSL://127.0.0.1:$(cat "$dir/tls-port"),BYWAY://127.0.0.1:$(cat "$dir/byway-port"),CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$(cat "$dir/port"),SSL://127.0.0.1:$(cat "$dir/tls-port"),BYWAY://127.0.0.1:$(cat "$dir/byway-told")
ssl.keystore.type=PEM
ssl.keystore.location=$dir/keystore.pem
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,BYWAY:PLAINTEXT
log.dirs=$dir/log
$(kafka_common_conf 1)
CONF
  kafka_format "$dir" "$(kafka_new_id)"
}

kafka_start_locked() {  # DIR
  local dir=$1
  with_lock setup kafka_install
  [ -f "$dir/server.properties" ] || kafka_create "$dir"
  [ -z "$(server_pid kafka "$dir")" ] || return 0
  (kafka_java kafka.Kafka "$dir/server.properties") >>"$dir/server.log" 2>&1 </dev/null &
  # The port answers before the broker does, or the dying one of before still does.
  server_await $! "$dir" Kafka kcat -b "127.0.0.1:$(cat "$dir/port")" -L -m 1 -X log_level=0
}

kafka_tool() {  # BOOTSTRAP [TOOL] [ARG...]: one of Kafka's own command line tools
  local bootstrap=$1 tool=${2:-topics}; shift $(($# > 2 ? 2 : $#))
  case $tool in
    topics) tool=org.apache.kafka.tools.TopicCommand ;;
    groups) tool=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
    configs) tool=kafka.admin.ConfigCommand ;;
    reassign) tool=org.apache.kafka.tools.reassign.ReassignPartitionsCommand ;;
    elect) tool=org.apache.kafka.tools.LeaderElectionCommand ;;
    *) die "kafka: unknown tool \"$tool\"; there are: topics groups configs reassign elect" ;;
  esac
  (kafka_java "$tool" --bootstrap-server "$bootstrap" "$@")
}

# kafka [start|stop|kill|url|tls|byway|remove|tool] [NAME] [ARG...]. start prints the bootstrap address, tls the one that speaks TLS and the
# file of its certificate, byway the port that clients of the third listener are sent to and the port it listens on; kill is kill -9; tool runs
# one of Kafka's own command line tools (topics, groups, configs, reassign, elect) against it.
kafka() {
  local action=${1:-start} name=${2:-test} dir
  dir=$(server_dir kafka "$name")
  case $action in
    start) need fleet; server_start kafka "$name"; echo "127.0.0.1:$(cat "$dir/port")" ;;
    url) server_must_run kafka "$name"; echo "127.0.0.1:$(cat "$dir/port")" ;;
    tls) server_must_run kafka "$name"; echo "127.0.0.1:$(cat "$dir/tls-port") $dir/certificate.pem" ;;
    byway) server_must_run kafka "$name"; echo "$(cat "$dir/byway-told"):$(cat "$dir/byway-port")" ;;
    stop) server_end kafka "$name" TERM ;;
    kill) server_end kafka "$name" KILL ;;
    remove) server_remove kafka "$name" ;;
    tool) shift $(($# > 2 ? 2 : $#)); kafka_tool "127.0.0.1:$(cat "$dir/port")" "$@" ;;
    cluster) shift; kafka_cluster "$@" ;;
    *) die "kafka: unknown action \"$action\"; there are: start stop kill url tls byway remove tool cluster" ;;
  esac
}
