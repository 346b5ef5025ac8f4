#include "cli/format.h"

namespace acl::cli {

namespace {

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
std::size_t Characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !Continues(c); }));
}

}  // namespace

std::string TextOf(const Json& object, const std::string& key) {
  if (!object.is_object()) return "";
  auto it = object.find(key);
  if (it == object.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>() : it->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t IntOf(const Json& object, const std::string& key, std::int64_t otherwise) {
  if (!object.is_object()) return otherwise;
  auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<std::int64_t>() : otherwise;
}

const Json& ItemsOf(const Json& body) {
  static const Json kEmpty = Json::array();
  if (body.is_array()) return body;
  if (!body.is_object()) return kEmpty;
  for (const char* key : {"items", "workflows", "events", "workers", "queues", "leases", "quarantined", "files", "capabilities"})
    if (auto it = body.find(key); it != body.end() && it->is_array()) return *it;
  return kEmpty;
}

std::string ShortTime(const std::string& time) {
  if (time.size() < 19 || time[10] != 'T') return time;
  return time.substr(0, 10) + " " + time.substr(11, 8) + (time.ends_with('Z') ? "Z" : "");
}

std::string Cut(const std::string& text, std::size_t most) {
  std::string out;
  std::size_t count = 0;
  for (char c : text) {
    if (!Continues(c) && ++count > most) return out + "…";
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return out;
}

std::string OnOneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

Shown Table::Text() const {
  std::vector<std::size_t> widths;
  for (const std::string& title : head_) widths.push_back(Characters(title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], Characters(row[i].text));
  Shown out;
  auto line = [&](const std::vector<Cell>& row) {
    Shown text;
    std::size_t owed = 0;  // spaces only before something
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      if (!row[i].text.empty()) {
        text += std::string(owed, ' ');
        text += row[i].shown;
        owed = 0;
      }
      owed += widths[i] - Characters(row[i].text) + 2;
    }
    out += text + "\n";
  };
  line({head_.begin(), head_.end()});
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace acl::cli
