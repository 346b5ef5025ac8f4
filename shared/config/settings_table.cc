#include "shared/config/settings_table.h"

#include <charconv>

#include <fmt/format.h>

namespace acl {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kCoordinator = unsigned(Program::kCoordinator);
constexpr unsigned kWorker = unsigned(Program::kWorker);
constexpr unsigned kCli = unsigned(Program::kCli);
constexpr unsigned kServers = kCoordinator | kWorker;
constexpr unsigned kAll = kServers | kCli;

Error Invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Result<long long> ReadNumber(std::string_view text, long long min, long long max) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return Invalid(fmt::format("'{}' is not a whole number from {} to {}", text, min, max));
  }
  return value;
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    auto item = text.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!item.empty()) items.emplace_back(item);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return items;
}

SettingRow Text(std::string name, unsigned programs, std::string Settings::*member, std::string value_name, std::string doc) {
  return {std::move(name),
          programs,
          std::move(value_name),
          std::move(doc),
          [member](Settings& s, std::string_view v) -> Status {
            if (v.find('\0') != std::string_view::npos) return Invalid("holds a NUL character");
            s.*member = std::string(v);
            return {};
          },
          [member](const Settings& s) { return s.*member; }};
}

SettingRow OneOf(std::string name, unsigned programs, std::string Settings::*member, std::vector<std::string> words, std::string doc) {
  auto row = Text(std::move(name), programs, member, "WORD", std::move(doc));
  row.set = [member, words = std::move(words)](Settings& s, std::string_view v) -> Status {
    for (const auto& word : words) {
      if (word == v) {
        s.*member = word;
        return {};
      }
    }
    return Invalid(fmt::format("'{}' is none of {}", v, fmt::join(words, ", ")));
  };
  return row;
}

SettingRow Millis(std::string name, unsigned programs, milliseconds Settings::*member, long long min, long long max, std::string doc) {
  return {std::move(name),
          programs,
          "MS",
          std::move(doc),
          [member, min, max](Settings& s, std::string_view v) -> Status {
            auto number = ReadNumber(v, min, max);
            if (!number) return number.error();
            s.*member = milliseconds(*number);
            return {};
          },
          [member](const Settings& s) { return std::to_string((s.*member).count()); }};
}

constexpr milliseconds kDay{86'400'000};

SettingRow Days(std::string name, unsigned programs, milliseconds Settings::*member, std::string doc, int least = 1) {
  return {std::move(name),
          programs,
          "DAYS",
          std::move(doc),
          [member, least](Settings& s, std::string_view v) -> Status {
            auto number = ReadNumber(v, least, 36'500);
            if (!number) return number.error();
            s.*member = *number * kDay;
            return {};
          },
          [member](const Settings& s) { return std::to_string(s.*member / kDay); }};
}

SettingRow Number(std::string name, unsigned programs, int Settings::*member, int min, int max, std::string doc) {
  return {std::move(name),
          programs,
          "N",
          std::move(doc),
          [member, min, max](Settings& s, std::string_view v) -> Status {
            auto number = ReadNumber(v, min, max);
            if (!number) return number.error();
            s.*member = int(*number);
            return {};
          },
          [member](const Settings& s) { return std::to_string(s.*member); }};
}

SettingRow Bytes(std::string name, unsigned programs, std::int64_t Settings::*member, long long min, std::string doc) {
  return {std::move(name),
          programs,
          "BYTES",
          std::move(doc),
          [member, min](Settings& s, std::string_view v) -> Status {
            auto number = ReadNumber(v, min, 1ll << 50);
            if (!number) return number.error();
            s.*member = *number;
            return {};
          },
          [member](const Settings& s) { return std::to_string(s.*member); }};
}

SettingRow Switch(std::string name, unsigned programs, bool Settings::*member, std::string doc) {
  return {std::move(name),
          programs,
          "",
          std::move(doc),
          [member](Settings& s, std::string_view v) -> Status {
            if (v == "true" || v == "1" || v == "yes" || v == "on") {
              s.*member = true;
            } else if (v == "false" || v == "0" || v == "no" || v == "off") {
              s.*member = false;
            } else {
              return Invalid(fmt::format("'{}' is neither true nor false", v));
            }
            return {};
          },
          [member](const Settings& s) { return s.*member ? "true" : "false"; }};
}

SettingRow Address(std::string name, unsigned programs, HostPort Settings::*member, std::string doc) {
  return {std::move(name),
          programs,
          "HOST:PORT",
          std::move(doc),
          [member](Settings& s, std::string_view v) -> Status {
            auto parsed = ParseHostPort(v);
            if (!parsed) return parsed.error();
            s.*member = *parsed;
            return {};
          },
          [member](const Settings& s) { return (s.*member).ToString(); }};
}

SettingRow Addresses(std::string name, unsigned programs, std::vector<HostPort> Settings::*member, std::string doc) {
  return {std::move(name),
          programs,
          "HOST:PORT,...",
          std::move(doc),
          [member](Settings& s, std::string_view v) -> Status {
            std::vector<HostPort> list;
            for (const auto& item : SplitList(v)) {
              auto parsed = ParseHostPort(item);
              if (!parsed) return parsed.error();
              list.push_back(*parsed);
            }
            s.*member = std::move(list);
            return {};
          },
          [member](const Settings& s) {
            std::string text;
            for (const auto& item : s.*member) text += (text.empty() ? "" : ",") + item.ToString();
            return text;
          }};
}

SettingRow List(std::string name, unsigned programs, std::vector<std::string> Settings::*member, bool may_be_empty, std::string doc) {
  return {std::move(name),
          programs,
          "A,B,...",
          std::move(doc),
          [member, may_be_empty](Settings& s, std::string_view v) -> Status {
            auto items = SplitList(v);
            if (items.empty() && !may_be_empty) return Invalid("needs at least one entry");
            s.*member = std::move(items);
            return {};
          },
          [member](const Settings& s) { return fmt::format("{}", fmt::join(s.*member, ",")); }};
}

SettingRow FlagOnly(SettingRow row) {
  row.flag_only = true;
  return row;
}
SettingRow Secret(SettingRow row) {
  row.secret = true;
  return row;
}

std::string WithDashes(std::string text) {
  for (char& c : text) c = c == '_' ? '-' : c;
  return text;
}

}  // namespace

std::string SettingRow::Flag() const { return "--" + WithDashes(name); }

std::string SettingRow::Environment() const {
  if (flag_only) return "";
  std::string text = "ACL_";
  for (const char c : name) text += c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  return text;
}

const std::vector<SettingRow>& SettingsTable() {
  static const std::vector<SettingRow> table = {
      Text("database_url", kAll, &Settings::database_url, "URL",
           "PostgreSQL, as libpq takes it: postgresql://user@host:port/name or key=value pairs"),
      OneOf("log_level", kServers, &Settings::log_level, {"debug", "info", "warn", "error", "off"},
            "what is logged: debug, info, warn, error or off"),
      Switch("dev_mode", kCoordinator, &Settings::dev_mode, "one machine, one user: a loopback listener needs no API key"),
      Text("failpoints", kServers, &Settings::failpoints, "FOLDER",
           "orders of a chaos run are looked for here; refused unless the fleet is marked for chaos (docs/contribute/chaos.md)"),
      Millis("lease_ttl_ms", kServers, &Settings::lease_ttl, 500, 600'000, "a worker that is silent this long loses what it holds"),
      Millis("heartbeat_ms", kWorker, &Settings::heartbeat, 100, 200'000,
             "how often a worker says that it lives; a quarter of lease_ttl_ms unless set"),
      Millis("drain_deadline_ms", kWorker, &Settings::drain_deadline, 0, 3'600'000,
             "how long a clean end may take before work is released"),
      Millis("drain_effects_deadline_ms", kWorker, &Settings::drain_effects_deadline, 0, 3'600'000,
             "how long a clean end waits for running steps that may not be repeated (programs, POSTs), if longer; then they are stopped "
             "and their outcome is unknown"),
      Number("db_connections", kServers, &Settings::db_connections, 1, 64, "database connections of this process"),
      OneOf("queue_driver", kServers, &Settings::queue_driver, {"postgres", "kafka"},
            "how workers hear of ready work: postgres (they look) or kafka (messages name ready rows); the same for the whole fleet"),
      Text("kafka_bootstrap", kServers, &Settings::kafka_bootstrap, "HOST:PORT,...", "brokers of Apache Kafka (queue_driver kafka)"),
      Text("kafka_prefix", kServers, &Settings::kafka_prefix, "NAME", "topics are PREFIX.steps.QUEUE.PRIORITY and PREFIX.dead"),
      Text("kafka_group", kServers, &Settings::kafka_group, "NAME", "consumer group of the workers; PREFIX.workers unless set"),
      Text("kafka_properties_file", kServers, &Settings::kafka_properties_file, "FILE",
           "lines NAME=VALUE handed to librdkafka: TLS, SASL and the like (docs/operate/operations.md)"),
      Bytes("large_value_bytes", kServers, &Settings::large_value_bytes, 1024,
            "state, results and files larger than this are stored outside of the journal: in the object store if there is one, else in "
            "chunks in "
            "PostgreSQL"),
      Text("s3_endpoint", kAll, &Settings::s3_endpoint, "URL",
           "object store for large values: https://HOST or http://HOST:PORT; empty = none"),
      Text("s3_region", kAll, &Settings::s3_region, "NAME", "region that requests to the object store are signed for"),
      Text("s3_bucket", kAll, &Settings::s3_bucket, "NAME", "bucket of the object store; it must exist"),
      Text("s3_prefix", kServers, &Settings::s3_prefix, "TEXT",
           "what keys in the bucket begin with; a part made of the database's own id follows"),
      Switch("s3_path_style", kAll, &Settings::s3_path_style, "address objects as ENDPOINT/BUCKET/KEY, not as BUCKET.HOST/KEY"),
      Text("s3_access_key", kAll, &Settings::s3_access_key, "ID", "access key of the object store"),
      Secret(Text("s3_secret_key", kAll, &Settings::s3_secret_key, "KEY",
                  "its secret; give it by the environment, a command line can be read by others")),
      Secret(Text("s3_session_token", kAll, &Settings::s3_session_token, "TOKEN", "of temporary credentials")),
      Text("s3_ca_file", kAll, &Settings::s3_ca_file, "FILE",
           "certificates that the object store's is verified with; the system's unless set"),
      Millis("s3_timeout_ms", kAll, &Settings::s3_timeout, 100, 600'000,
             "the longest one try of one request to the object store may take, its body included"),
      Address("listen", kCoordinator, &Settings::listen, "where the API listens; port 0 = any free one, printed at start"),
      Address("doorbell_listen", kCoordinator, &Settings::doorbell_listen, "where workers connect for hints; port 0 = any free one"),
      Text("doorbell_advertise", kCoordinator, &Settings::doorbell_advertise, "HOST:PORT",
           "where workers are told that the doorbell is, by a row in the database; doorbell_listen unless set, with the machine's name if "
           "that is every address; none = they are not told"),
      List("allowed_hosts", kCoordinator, &Settings::allowed_hosts, true,
           "names this API is reached by (Host headers); on loopback its own names are always taken"),
      Millis("reap_ms", kCoordinator, &Settings::reap, 50, 60'000, "the longest wait between two looks for dead sessions"),
      Millis("timers_ms", kCoordinator, &Settings::timers, 20, 60'000,
             "the longest wait between two looks at the timers, and at the schedules"),
      Millis("leader_ttl_ms", kCoordinator, &Settings::leader_ttl, 500, 60'000,
             "a coordinator that is silent this long loses its jobs to another one"),
      Millis("ready_poll_ms", kCoordinator, &Settings::ready_poll, 50, 60'000,
             "how often ready work is counted and workers are notified of it"),
      Days("session_retention_days", kCoordinator, &Settings::session_retention,
           "how long ended worker sessions and ended dispatches stay in the lists"),
      Days("request_key_retention_days", kCoordinator, &Settings::request_key_retention,
           "how long a repeated Idempotency-Key gives the first answer"),
      Days("journal_retention_days", kCoordinator, &Settings::journal_retention,
           "how long the journals of a subject stay after the next of them began; 0 = for ever (docs/operate/operations.md)", 0),
      Text("jaeger_url", kCoordinator, &Settings::jaeger_url, "URL",
           "where people open Jaeger: a run's status links to its trace there (what is sent to it: docs/operate/operations.md, Traces)"),
      Millis("content_grace_ms", kCoordinator, &Settings::content_grace, 3'600'000, 8'640'000'000,
             "how long a stored content that no run refers to is kept"),
      Text("webhook_endpoints_file", kCoordinator, &Settings::webhook_endpoints_file, "FILE",
           "where webhooks may go, lines NAME URL [sign=KEY] [private] (docs/guides/webhooks.md); only its reader may read it; empty = "
           "nowhere"),
      Text("approval_link_key", kCoordinator, &Settings::approval_link_key, "NAME",
           "key of webhook_keys_file (whsec_...) by which links to approvals are signed (docs/guides/workflows.md, Approvals); empty = no "
           "links"),
      Text("approval_base_url", kCoordinator, &Settings::approval_base_url, "URL",
           "address at which people open this coordinator, of the links to approvals: https://HOST"),
      Text("memory_url", kCoordinator, &Settings::memory_url, "URL",
           "external memory of preferences, decisions and facts (docs/guides/memory.md): https://HOST/PATH; empty = none"),
      Text("memory_token_file", kCoordinator, &Settings::memory_token_file, "FILE",
           "bearer token for it, on one line; only its reader may read the file"),
      Text("memory_ca_file", kCoordinator, &Settings::memory_ca_file, "FILE",
           "certificates that the memory's is verified with; the system's unless set"),
      Millis("memory_timeout_ms", kCoordinator, &Settings::memory_timeout, 50, 60'000, "the longest one call to the memory may take"),
      Switch("memory_allow_private_networks", kCoordinator, &Settings::memory_allow_private_networks,
             "the memory may be at a loopback or private address"),
      Text("aegis_kernel_file", kCoordinator, &Settings::aegis_kernel_file, "FILE",
           "kernel by which language models are asked (docs/guides/aegis.md); empty = none are"),
      Text("aegis_providers_file", kCoordinator, &Settings::aegis_providers_file, "FILE",
           "where language models are (docs/guides/aegis.md, Providers)"),
      Text("aegis_key_file", kCoordinator, &Settings::aegis_key_file, "FILE",
           "16 bytes or more, by which placeholders of secrets and digests of what was said are made; only its reader may read it"),
      List("aegis_disks", kCoordinator, &Settings::aegis_disks, true,
           "folders whose file systems sight looks at (docs/guides/aegis.md, Sight); empty = the working folder"),
      Text("aegis_index_folder", kCoordinator, &Settings::aegis_index_folder, "FOLDER",
           "the folder that index_status and index_changed look at; empty = they are not installed"),
      FlagOnly(Text("create_api_key", kCoordinator, &Settings::create_api_key, "NAME", "make an API key, print it once, and end")),
      FlagOnly(Switch("health", kServers, &Settings::health,
                      "ask the process that runs here with these settings whether it is ready (/readyz), and end: 0 if it is")),
      Address("health_listen", kWorker, &Settings::health_listen, "where /livez, /readyz and /metrics are; port 0 = any free one"),
      Addresses("coordinators", kWorker, &Settings::coordinators,
                "doorbells to connect to, besides those that coordinators announce in the database; empty = none at all, the worker polls"),
      Text("worker_name", kWorker, &Settings::worker_name, "NAME", "for people; host name and process id unless set"),
      Number("runs", kWorker, &Settings::runs, 1, 16384, "runs this worker holds at once; most of them wait for a step or a timer"),
      Number("slots", kWorker, &Settings::slots, 1, 16384, "steps this worker runs at once"),
      List("queues", kWorker, &Settings::queues, false, "queues this worker takes work from"),
      Millis("poll_ms", kWorker, &Settings::poll, 20, 3'600'000,
             "the longest wait between two looks for work; eight times as long while every doorbell is connected"),
      Bytes("sticky_bytes", kWorker, &Settings::sticky_bytes, 0,
            "states of runs that were released are kept in memory, up to so many bytes as they are stored (in memory some times as much): "
            "a message that brings one back finds it there, instead of restoring it from the journal; 0 = none"),
      Millis("queue_late_ms", kWorker, &Settings::queue_late, 100, 3'600'000,
             "queue_driver kafka: rows that have been ready so long are looked for without a message"),
      Switch("local_continuation", kWorker, &Settings::local_continuation,
             "a worker goes on with a run's next step itself; off = every step goes through the queue (to measure and test the queue)"),
      List("aegis_urls", kWorker, &Settings::aegis_urls, true,
           "coordinators that ask language models for llm.ask, as in https://HOST:8733 (docs/guides/aegis.md); empty = llm.ask fails"),
      Text("aegis_api_key_file", kWorker, &Settings::aegis_api_key_file, "FILE",
           "API key for them, on one line; only its reader may read the file; empty = none is sent"),
      Text("aegis_ca_file", kWorker, &Settings::aegis_ca_file, "FILE",
           "certificates that theirs are verified with; the system's unless set"),
      Text("work_dir", kWorker, &Settings::work_dir, "DIR", "where files of running steps are laid out"),
      List("allowed_programs", kWorker, &Settings::allowed_programs, true,
           "programs that sys.exec.run may start; empty = ls cat echo pwd whoami grep wc head tail, of which none starts others; @dev "
           "among them = those of a development fleet, a shell too (docs/operate/security.md says what a list cannot do)"),
      Switch("allow_private_networks", kWorker, &Settings::allow_private_networks, "net.http may reach loopback and private addresses"),
      List("http_allowed_hosts", kWorker, &Settings::http_allowed_hosts, true,
           "hosts that net.http may reach, exact names or *.example.org; empty = every public one"),
      Text("http_ca_file", kWorker, &Settings::http_ca_file, "FILE", "certificates that net.http trusts; the system's unless set"),
      Bytes("http_max_body_bytes", kWorker, &Settings::http_max_body_bytes, 1, "largest answer that net.http takes, decompressed"),
      Text("webhook_keys_file", kServers, &Settings::webhook_keys_file, "FILE",
           "keys by which webhooks are signed (sign_with of net.http, sign= of webhook_endpoints_file), lines NAME HOST... = whsec_... "
           "[whsec_...]; only its reader may read it"),
      Bytes("exec_memory_bytes", kWorker, &Settings::exec_memory_bytes, 0,
            "address space of a program that sys.exec.run starts; 0 = no limit"),
      Number("exec_at_once", kWorker, &Settings::exec_at_once, 0, 10'000,
             "programs that sys.exec.run runs at once, the others wait for their turn; 0 = four for each processor"),
      List("readable_env", kWorker, &Settings::readable_env, true,
           "variables of the worker that sys.info.get_env_var may show; empty = PATH, HOME, LANG and the like, never a secret"),
      Bytes("file_max_bytes", kWorker, &Settings::file_max_bytes, 1, "largest file of a run"),
      Bytes("files_max_bytes", kWorker, &Settings::files_max_bytes, 1, "all files of a run together"),
      Number("files_max_count", kWorker, &Settings::files_max_count, 1, 10'000'000, "files of a run, folders counted"),
      Bytes("output_max_bytes", kWorker, &Settings::output_max_bytes, 1024, "largest outputs of one step, as JSON text"),
      Text("server", kCli, &Settings::server, "URL", "the coordinator's address"),
      Secret(Text("api_key", kCli, &Settings::api_key, "KEY", "key for the API, if it needs one")),
  };
  return table;
}

Status CompleteSettings(Settings& settings, const std::map<std::string, std::string>& from) {
  if (!from.contains("heartbeat_ms")) settings.heartbeat = std::max(milliseconds(100), settings.lease_ttl / 4);
  std::string wrong;
  if (settings.heartbeat * 2 > settings.lease_ttl) {
    wrong += fmt::format("heartbeat_ms ({}) is more than half of lease_ttl_ms ({}): one lost heartbeat would lose every lease\n",
                         settings.heartbeat.count(), settings.lease_ttl.count());
  }
  while (settings.jaeger_url.ends_with('/')) settings.jaeger_url.pop_back();
  if (!settings.jaeger_url.empty() && !settings.jaeger_url.starts_with("http://") && !settings.jaeger_url.starts_with("https://")) {
    wrong += "jaeger_url is no URL: write for example http://127.0.0.1:16686\n";
  }
  if (settings.queue_driver == "kafka" && settings.kafka_bootstrap.empty())
    wrong += "kafka_bootstrap is empty: write for example 127.0.0.1:9092\n";
  const bool plain_prefix =
      !settings.kafka_prefix.empty() && settings.kafka_prefix.size() <= 60 &&
      settings.kafka_prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos;
  if (!plain_prefix) wrong += fmt::format("kafka_prefix '{}' is not 1 to 60 of a-z A-Z 0-9 . _ -\n", settings.kafka_prefix);
  if (!settings.s3_endpoint.empty()) {
    for (const auto& [name, value] : {std::pair<const char*, const std::string&>{"s3_bucket", settings.s3_bucket},
                                      {"s3_access_key", settings.s3_access_key},
                                      {"s3_secret_key", settings.s3_secret_key}}) {
      if (value.empty()) wrong += fmt::format("{} is empty: an object store (s3_endpoint) needs it\n", name);
    }
  }
  if (const auto& told = settings.doorbell_advertise; !told.empty() && told != "none") {
    if (const auto at = ParseHostPort(told); !at || at->port == 0)
      wrong += fmt::format("doorbell_advertise '{}' is no address that workers can connect to: write HOST:PORT, or none\n", told);
  }
  if (settings.database_url.empty()) wrong += "database_url is empty: write for example postgresql:///acl\n";
  if (wrong.empty()) return {};
  wrong.pop_back();
  return Invalid(wrong);
}

}  // namespace acl
