#include "shared/kafka/fleet_settings.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "shared/base/read_file.h"

namespace acl::kafka {

namespace {

// Safety rests on these, or they have a setting of their own.
const std::set<std::string> kOurs = {"bootstrap.servers",
                                     "metadata.broker.list",
                                     "group.id",
                                     "client.id",
                                     "enable.auto.commit",
                                     "enable.auto.offset.store",
                                     "acks",
                                     "request.required.acks",
                                     "enable.idempotence",
                                     "auto.offset.reset",
                                     "transactional.id",
                                     "partition.assignment.strategy",
                                     "isolation.level",
                                     "group.instance.id",
                                     "plugin.library.paths"};

std::string Trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

Result<ClientSettings> MakeClientSettings(const FleetSettings& fleet, const std::string& client_id) {
  ClientSettings client;
  client.bootstrap = fleet.bootstrap;
  client.client_id = client_id;
  if (fleet.properties_file.empty()) return client;
  constexpr std::size_t kMost = 1 << 20;
  auto text = ReadFile(fleet.properties_file, kMost);
  if (!text) return Error{Code::kInvalid, "kafka_properties_file: " + text.message()};
  std::istringstream file(*text);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = Trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const auto at = [&](const std::string& what) {
      return Error{Code::kInvalid, fmt::format("kafka_properties_file {}, line {}: {}", fleet.properties_file, number, what)};
    };
    const auto equals = line.find('=');
    const std::string name = Trimmed(line.substr(0, equals));
    if (equals == std::string::npos || name.empty()) return at("not NAME=VALUE");
    if (kOurs.contains(name)) return at(fmt::format("{} is decided by this program: leave it out", name));
    client.more[name] = Trimmed(line.substr(equals + 1));
  }
  Config probe;  // librdkafka says at once what it does not take
  for (const auto& [name, value] : client.more) {
    if (Status set = probe.Set(name, value); !set) {
      return Error{Code::kInvalid, fmt::format("kafka_properties_file {}: {}", fleet.properties_file, set.message())};
    }
  }
  return client;
}

std::string GroupOf(const FleetSettings& fleet) { return fleet.group.empty() ? fleet.prefix + ".workers" : fleet.group; }

}  // namespace acl::kafka
