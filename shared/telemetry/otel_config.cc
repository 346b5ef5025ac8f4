#include "shared/telemetry/otel_config.h"

#include <fmt/format.h>

#include <charconv>

namespace acl {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string PercentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* end = text.data() + i + 3;
      if (std::from_chars(end - 2, end, value, 16).ptr == end) {
        out += char(value);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

class Reader {
 public:
  Reader(const std::map<std::string, std::string>& environment, std::vector<std::string>& warnings)
      : environment_(environment), warnings_(warnings) {}

  // Empty is unset.
  std::string Text(const std::string& name) const {
    auto it = environment_.find(name);
    return it == environment_.end() ? std::string() : std::string(Trimmed(it->second));
  }
  // The first that is set.
  std::string Text(const std::string& name, const std::string& other) const {
    std::string text = Text(name);
    return text.empty() ? Text(other) : text;
  }
  bool True(const std::string& name) const {
    std::string text = Text(name);
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    if (!text.empty() && text != "true" && text != "false") Warn(name, text, "true or false");
    return text == "true";
  }
  int Number(const std::string& name, int otherwise, int min, int max) const {
    const std::string text = Text(name);
    if (text.empty()) return otherwise;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) return value;
    Warn(name, text, fmt::format("a whole number from {} to {}; {} stands", min, max, otherwise));
    return otherwise;
  }
  // "key1=value1,key2=value2"; values are percent-encoded.
  std::vector<std::pair<std::string, std::string>> Pairs(const std::string& name, std::string_view text) const {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!text.empty()) {
      const auto comma = text.find(',');
      const auto item = Trimmed(text.substr(0, comma));
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
      if (item.empty()) continue;
      const auto equals = item.find('=');
      const auto key = Trimmed(item.substr(0, equals));
      if (equals == std::string_view::npos || key.empty()) {
        warnings_.push_back(name + " holds an entry that is not key=value; it is ignored");  // not shown: it may be a secret
        continue;
      }
      pairs.emplace_back(std::string(key), PercentDecoded(Trimmed(item.substr(equals + 1))));
    }
    return pairs;
  }
  void Warn(const std::string& name, const std::string& value, const std::string& allowed) const {
    warnings_.push_back(fmt::format("{}: '{}' is not {}", name, value, allowed));
  }

 private:
  const std::map<std::string, std::string>& environment_;
  std::vector<std::string>& warnings_;
};

std::string UrlOf(const Reader& reader) {
  if (std::string url = reader.Text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); !url.empty()) return url;  // as it is
  std::string base = reader.Text("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (base.empty()) return {};
  while (base.ends_with('/')) base.pop_back();
  return base + "/v1/traces";
}

void ReadSampler(const Reader& reader, OtelConfig& config) {
  std::string name = reader.Text("OTEL_TRACES_SAMPLER");
  if (name.empty()) name = "parentbased_always_on";
  config.parent_based = name.starts_with("parentbased_");
  const std::string root = config.parent_based ? name.substr(12) : name;
  if (root == "always_off") {
    config.sampler = OtelConfig::Sampler::kOff;
  } else if (root == "traceidratio") {
    config.sampler = OtelConfig::Sampler::kRatio;
    const std::string text = reader.Text("OTEL_TRACES_SAMPLER_ARG");
    double ratio = 1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
    const bool good = error == std::errc() && end == text.data() + text.size() && ratio >= 0 && ratio <= 1;
    if (!text.empty() && !good) reader.Warn("OTEL_TRACES_SAMPLER_ARG", text, "a number from 0 to 1; 1 stands");
    if (!text.empty() && good) config.ratio = ratio;
  } else if (root != "always_on") {
    reader.Warn("OTEL_TRACES_SAMPLER", name,
                "always_on, always_off, traceidratio, or one of these behind parentbased_; parentbased_always_on stands");
    config.parent_based = true;
  }
}

}  // namespace

OtelConfig ReadOtelConfig(const std::map<std::string, std::string>& environment, const std::string& service) {
  OtelConfig config;
  const Reader reader(environment, config.warnings);
  config.url = UrlOf(reader);
  if (config.url.empty() || reader.True("OTEL_SDK_DISABLED")) return config;
  const std::string exporter = reader.Text("OTEL_TRACES_EXPORTER");
  if (exporter == "none") return config;
  if (!exporter.empty() && exporter != "otlp") reader.Warn("OTEL_TRACES_EXPORTER", exporter, "otlp or none; otlp stands");
  if (!config.url.starts_with("http://") && !config.url.starts_with("https://")) {
    config.warnings.push_back("OTEL_EXPORTER_OTLP_ENDPOINT is no http:// or https:// address: no traces are sent");
    return config;
  }
  const std::string protocol = reader.Text("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
  if (!protocol.empty() && protocol != "http/json") {
    reader.Warn("OTEL_EXPORTER_OTLP_PROTOCOL", protocol,
                "http/json, the one there is: the endpoint must be a collector's HTTP port (4318)");
  }
  config.on = true;
  const std::string headers = reader.Text("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
  for (auto& [name, value] : reader.Pairs("OTEL_EXPORTER_OTLP_HEADERS", headers)) {
    if ((name + value).find_first_of("\r\n") != std::string::npos) {
      config.warnings.push_back("OTEL_EXPORTER_OTLP_HEADERS: a line break in '" + PercentDecoded(name) + "'; it is ignored");
      continue;
    }
    config.headers.emplace_back(std::move(name), std::move(value));
  }
  config.ca_file = reader.Text("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE");
  const char* timeout =
      reader.Text("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").empty() ? "OTEL_EXPORTER_OTLP_TIMEOUT" : "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT";
  config.post_timeout = std::chrono::milliseconds(reader.Number(timeout, 10'000, 1, 600'000));

  config.resource = {{"service.name", service}};
  for (auto& [name, value] : reader.Pairs("OTEL_RESOURCE_ATTRIBUTES", reader.Text("OTEL_RESOURCE_ATTRIBUTES")))
    config.resource[name] = value;
  if (std::string name = reader.Text("OTEL_SERVICE_NAME"); !name.empty()) config.resource["service.name"] = name;

  ReadSampler(reader, config);
  config.delay = std::chrono::milliseconds(reader.Number("OTEL_BSP_SCHEDULE_DELAY", 1'000, 0, 600'000));
  config.export_timeout = std::chrono::milliseconds(reader.Number("OTEL_BSP_EXPORT_TIMEOUT", 30'000, 1, 600'000));
  config.max_queue = reader.Number("OTEL_BSP_MAX_QUEUE_SIZE", 2'048, 1, 1'000'000);
  config.max_batch = std::min(reader.Number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 1, 100'000), config.max_queue);
  return config;
}

}  // namespace acl
