#include <charconv>

#include "shared/spec/template_scan.h"

namespace acl {

namespace {

// As Python's repr: shortest digits that read back equal; fixed between 1e-4 and 1e16, always with a point or an exponent.
std::string FloatText(double value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  std::size_t e = text.find('e');
  int exponent = 0;
  std::string_view exponent_text = text.substr(e + 1);
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  std::string sign(text.starts_with('-') ? "-" : "");
  std::string digits;
  for (char c : text.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  if (exponent < -4 || exponent >= 16) {
    std::string tail = (exponent < 0 ? "e-" : "e+") + std::string(std::abs(exponent) < 10 ? "0" : "") + std::to_string(std::abs(exponent));
    return sign + digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") + tail;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  std::string fraction = digits.substr(whole);
  return sign + digits.substr(0, whole) + "." + (fraction.empty() ? "0" : fraction);
}

void Write(const Json& value, int indent, std::string* out) {
  auto line = [&](int level) { *out += "\n" + std::string(static_cast<std::size_t>(level) * 2, ' '); };
  if (value.is_number_float()) {
    *out += FloatText(value.get<double>());
  } else if (value.is_object() && !value.empty()) {
    *out += '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!std::exchange(first, false)) *out += ',';
      line(indent + 1);
      *out += DumpJson(Json(key)) + ": ";
      Write(item, indent + 1, out);
    }
    line(indent);
    *out += '}';
  } else if (value.is_array() && !value.empty()) {
    *out += '[';
    bool first = true;
    for (const Json& item : value) {
      if (!std::exchange(first, false)) *out += ',';
      line(indent + 1);
      Write(item, indent + 1, out);
    }
    line(indent);
    *out += ']';
  } else {
    *out += DumpJson(value);
  }
}

// ASCII letters only; other scripts stay as they are.
std::string Cased(std::string text, bool upper) {
  for (char& c : text) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return text;
}

std::string Trimmed(const std::string& text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  std::size_t from = text.find_first_not_of(kSpace);
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

std::size_t CodePoints(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The first or last character of a text.
std::string EndOf(const std::string& text, bool first) {
  auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  if (text.empty()) return text;
  if (first) {
    std::size_t end = 1;
    while (end < text.size() && continues(end)) ++end;
    return text.substr(0, end);
  }
  std::size_t begin = text.size() - 1;
  while (begin > 0 && continues(begin)) --begin;
  return text.substr(begin);
}

Error Wrong(const TemplateFilter& filter, const std::string& why) {
  return {Code::kInvalid, "template filter '" + filter.name + "': " + why};
}

Result<std::optional<Json>> Apply(const TemplateFilter& filter, const std::optional<Json>& input) {
  const std::string& name = filter.name;
  if (std::string wrong = WrongArguments(filter); !wrong.empty()) return Error{Code::kInvalid, "template " + wrong};
  if (name == "default") return input ? input : std::optional<Json>(filter.arguments[0]);
  if (!input) return input;  // missing stays missing
  const Json& value = *input;
  if (name == "json") return std::optional<Json>(DumpJson(value));
  if (name == "join") {
    if (!value.is_array()) return Wrong(filter, "needs a list");
    const std::string separator = filter.arguments.empty() ? "," : filter.arguments[0].get<std::string>();
    std::string out;
    for (std::size_t i = 0; i < value.size(); ++i) out += (i ? separator : "") + SpliceText(value[i]);
    return std::optional<Json>(std::move(out));
  }
  if (name == "length") {
    if (value.is_string()) return std::optional<Json>(CodePoints(value.get_ref<const std::string&>()));
    if (value.is_structured()) return std::optional<Json>(value.size());
    return Wrong(filter, "needs a text, a list or a map");
  }
  if (name == "first" || name == "last") {
    if (value.is_string()) return std::optional<Json>(EndOf(value.get<std::string>(), name == "first"));
    if (!value.is_array()) return Wrong(filter, "needs a list or a text");
    if (value.empty()) return std::optional<Json>();
    return std::optional<Json>(name == "first" ? value.front() : value.back());
  }
  if (!value.is_string()) return Wrong(filter, "needs a text");
  const auto text = value.get<std::string>();
  return std::optional<Json>(name == "trim" ? Trimmed(text) : Cased(text, name == "upper"));
}

}  // namespace

const std::vector<std::string_view>& FilterNames() {
  static const std::vector<std::string_view> names = {"default", "json", "upper", "lower", "trim", "join", "length", "first", "last"};
  return names;
}

bool IsFilter(std::string_view name) { return std::find(FilterNames().begin(), FilterNames().end(), name) != FilterNames().end(); }

std::string WrongArguments(const TemplateFilter& filter) {
  const bool takes_one = filter.name == "default" || filter.name == "join";
  const auto wrong = [&](const char* why) { return "filter '" + filter.name + "': " + why; };
  if (filter.arguments.size() > (takes_one ? 1u : 0u)) return wrong(takes_one ? "takes one argument" : "takes no argument");
  if (filter.name == "default" && filter.arguments.empty()) return wrong("needs the value to use instead: default('x')");
  if (filter.name == "join" && !filter.arguments.empty() && !filter.arguments[0].is_string())
    return wrong("the separator must be a text: join(', ')");
  return "";
}

std::string SpliceText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string out;
  Write(value, 0, &out);
  return out;
}

Result<std::optional<Json>> ApplyFilters(const std::vector<TemplateFilter>& filters, std::optional<Json> value) {
  for (const TemplateFilter& filter : filters) {
    auto next = Apply(filter, value);
    if (!next) return next.error();
    value = std::move(*next);
    if (value && value->is_null()) value.reset();
  }
  return value;
}

}  // namespace acl
