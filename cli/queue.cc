// airun queue init, status, dead: the topics of queue_driver kafka, and what nobody could deal with.
#include <fmt/format.h>

#include "cli/app.h"
#include "cli/format.h"
#include "cli/kafka_access.h"
#include "cli/numbers.h"
#include "shared/kafka/dead_letters.h"
#include "shared/kafka/naming.h"
#include "shared/kafka/topics.h"
#include "shared/queue/step_message.h"

namespace acl::cli {

namespace {

constexpr std::chrono::milliseconds kWithin{15'000};
constexpr int kDeadPartitions = 1;

struct QueueOptions {
  kafka::FleetSettings flags{"", "", "", ""};
  std::vector<std::string> queues{"default"};
  int partitions = 12, replication = 1, retention_hours = 24 * 7, dead_retention_hours = 24 * 30;
  std::string letter;
  bool all = false;
};

std::string Hours(int hours) { return std::to_string(std::int64_t(hours) * 3'600'000); }

void Init(Session* session, const QueueOptions& options) {
  auto access = ReachKafka(*session, options.flags);
  if (!access) return session->Fail(access.error());
  const std::string in_sync = options.replication >= 3 ? "2" : "1";
  std::vector<kafka::TopicDefinition> definitions;
  for (const std::string& topic : kafka::StepTopics(access->fleet.prefix, options.queues)) {
    definitions.push_back({topic,
                           options.partitions,
                           options.replication,
                           {{"retention.ms", Hours(options.retention_hours)}, {"min.insync.replicas", in_sync}}});
  }
  definitions.push_back({kafka::DeadTopic(access->fleet.prefix),
                         kDeadPartitions,
                         options.replication,
                         {{"retention.ms", Hours(options.dead_retention_hours)}, {"min.insync.replicas", in_sync}}});
  auto made = kafka::CreateTopics(access->client, definitions, kWithin);
  if (!made) return session->Fail(made.error());
  Json all = Json::array();
  for (std::size_t n = 0; n < definitions.size(); ++n) {
    all.push_back({{"topic", definitions[n].name}, {"partitions", definitions[n].partitions}, {"made", bool((*made)[n])}});
    if (!session->json()) session->Print((((*made)[n]) ? "made     " : "is there ") + definitions[n].name);
  }
  if (session->json()) session->PrintJson(all);
}

void Show(Session* session, const QueueOptions& options) {
  auto access = ReachKafka(*session, options.flags);
  if (!access) return session->Fail(access.error());
  auto topics = kafka::StepTopics(access->fleet.prefix, options.queues);
  topics.push_back(kafka::DeadTopic(access->fleet.prefix));
  auto states = kafka::DescribeTopics(access->client, topics, kWithin);
  if (!states) return session->Fail(states.error());
  Json all = Json::array();
  Table table({"TOPIC", "PARTITIONS", "REPLICAS", "WITHOUT LEADER"});
  for (const kafka::TopicState& state : *states) {
    if (state.partitions == 0 || state.without_leader > 0) session->exit_code = kExitFailure;
    all.push_back({{"topic", state.name},
                   {"partitions", state.partitions},
                   {"replication", state.replication},
                   {"without_leader", state.without_leader}});
    table.Add({state.name, state.partitions == 0 ? "missing" : std::to_string(state.partitions), std::to_string(state.replication),
               std::to_string(state.without_leader)});
  }
  if (session->json()) return session->PrintJson(all);
  session->Write(table.Text());
  if (session->exit_code != kExitOk)
    session->Note("fix: airun queue init makes what is missing; a topic without leader waits for its broker");
}

std::string LetterId(const kafka::DeadLetter& letter) { return fmt::format("{}:{}", letter.partition, letter.offset); }

Json LetterJson(const kafka::DeadLetter& letter) {
  Json json = {
      {"id", LetterId(letter)},       {"at", letter.at},         {"topic", letter.topic},       {"partition", letter.from_partition},
      {"offset", letter.from_offset}, {"reason", letter.reason}, {"bytes", letter.value.size()}};
  if (auto message = DecodeStepMessage(letter.value)) {
    json["subject"] = message->key.subject.ToString();
    json["queue"] = message->key.queue;
    json["kind"] = message->kind;
  }
  return json;
}

Result<std::vector<kafka::DeadLetter>> Letters(Session* session, const QueueOptions& options, kafka::ClientSettings* client) {
  auto access = ReachKafka(*session, options.flags);
  if (!access) return access.error();
  if (client) *client = access->client;
  return kafka::ReadDeadLetters(access->fleet, access->client, kWithin);
}

void DeadList(Session* session, const QueueOptions& options) {
  auto letters = Letters(session, options, nullptr);
  if (!letters) return session->Fail(letters.error());
  if (session->json()) {
    Json all = Json::array();
    for (const auto& letter : *letters) all.push_back(LetterJson(letter));
    return session->PrintJson(all);
  }
  if (letters->empty()) return session->Note("there are no dead letters");
  Table table({"ID", "AT", "FROM", "REASON"});
  for (const auto& letter : *letters) {
    table.Add({LetterId(letter), ShortTime(letter.at), fmt::format("{} {}:{}", letter.topic, letter.from_partition, letter.from_offset),
               Cut(letter.reason, 90)});
  }
  session->Write(table.Text());
}

void DeadShow(Session* session, const QueueOptions& options) {
  auto letters = Letters(session, options, nullptr);
  if (!letters) return session->Fail(letters.error());
  for (const auto& letter : *letters) {
    if (LetterId(letter) != options.letter) continue;
    Json json = LetterJson(letter);
    json["key"] = ToHex(letter.key);
    json["value"] = ToHex(letter.value);
    json["headers"] = Json::object();
    for (const auto& [name, value] : letter.headers) json["headers"][name] = ToHex(value);
    return session->PrintJson(json);
  }
  session->Fail(kExitNotFound, "there is no dead letter " + options.letter + " (any more); airun queue dead list shows them");
}

void DeadReplay(Session* session, const QueueOptions& options) {
  if (options.letter.empty() != options.all) return session->Fail(kExitUsage, "give the id of one letter, or --all");
  kafka::ClientSettings client;
  auto letters = Letters(session, options, &client);
  if (!letters) return session->Fail(letters.error());
  int sent = 0;
  for (const auto& letter : *letters) {
    if (!options.all && LetterId(letter) != options.letter) continue;
    if (Status replayed = kafka::ReplayDeadLetter(client, letter, kWithin); !replayed) return session->Fail(replayed.error());
    ++sent;
    if (!session->json()) session->Print("sent " + LetterId(letter) + " to " + letter.topic + " again");
  }
  if (sent == 0 && !options.all) return session->Fail(kExitNotFound, "there is no dead letter " + options.letter + " (any more)");
  if (session->json()) session->PrintJson({{"sent", sent}});
}

}  // namespace

void AddQueueCommands(CLI::App* app, Session* session) {
  CLI::App* queue = app->add_subcommand("queue", "topics of Apache Kafka (queue_driver kafka): make, look at, dead letters");
  queue->require_subcommand(1);
  auto options = std::make_shared<QueueOptions>();
  queue->add_option("--kafka-bootstrap", options->flags.bootstrap, "brokers, HOST:PORT,... (ACL_KAFKA_BOOTSTRAP)");
  queue->add_option("--kafka-prefix", options->flags.prefix, "of the topics' names (ACL_KAFKA_PREFIX)");
  queue->add_option("--kafka-properties-file", options->flags.properties_file, "TLS, SASL and the like (ACL_KAFKA_PROPERTIES_FILE)");
  CLI::App* init =
      queue->add_subcommand("init", "make the topics of these queues, and the one of dead letters; what is there stays as it is");
  init->add_option("queues", options->queues, "queues")->capture_default_str();
  init->add_option("--partitions", options->partitions, "of each topic: the most workers that share one queue and priority")
      ->check(WholeNumber(1, 10'000))
      ->capture_default_str();
  init->add_option("--replication", options->replication, "copies of each partition; 3 in production")
      ->check(WholeNumber(1, 32))
      ->capture_default_str();
  init->add_option("--retention-hours", options->retention_hours, "how long messages are kept; they are wake-ups only")
      ->check(WholeNumber(1, 876'000))
      ->capture_default_str();
  init->add_option("--dead-retention-hours", options->dead_retention_hours, "how long dead letters are kept")
      ->check(WholeNumber(1, 876'000))
      ->capture_default_str();
  init->callback([=] { Init(session, *options); });
  CLI::App* status = queue->add_subcommand("status", "topics of these queues; exit 1 if one is missing or has no leader");
  status->add_option("queues", options->queues, "queues")->capture_default_str();
  status->callback([=] { Show(session, *options); });
  CLI::App* dead = queue->add_subcommand("dead", "messages that nobody could deal with");
  dead->require_subcommand(1);
  dead->add_subcommand("list", "all of them, with the reason")->callback([=] { DeadList(session, *options); });
  CLI::App* show = dead->add_subcommand("show", "one of them whole, bytes in hex");
  show->add_option("id", options->letter, "PARTITION:OFFSET, as the list shows it")->required();
  show->callback([=] { DeadShow(session, *options); });
  CLI::App* replay = dead->add_subcommand("replay", "send to the topic it came from once more");
  replay->add_option("id", options->letter, "PARTITION:OFFSET, as the list shows it");
  replay->add_flag("--all", options->all, "all of them");
  replay->callback([=] { DeadReplay(session, *options); });
}

}  // namespace acl::cli
