#include "shared/capability/python_json.h"

#include <double-conversion/double-conversion.h>
#include <fmt/format.h>

namespace acl {

namespace {

void Quote(const std::string& text, bool ascii, std::string& out) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      case '\b': out += "\\b"; continue;
      case '\f': out += "\\f"; continue;
      default: break;
    }
    if (c < 0x20 || (c == 0x7f && ascii)) {
      out += fmt::format("\\u{:04x}", unsigned(c));
    } else if (c < 0x80 || !ascii) {
      out += char(c);
    } else {
      int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
      unsigned point = c & (0x3fu >> more);
      for (; more > 0 && i + 1 < text.size(); --more) point = point << 6 | (static_cast<unsigned char>(text[++i]) & 0x3fu);
      if (point >= 0x10000) {
        point -= 0x10000;
        out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
      } else {
        out += fmt::format("\\u{:04x}", point);
      }
    }
  }
  out += '"';
}

void Write(const Json& value, const PythonJsonStyle& style, int level, std::string& out) {
  auto line = [&](int depth) {
    if (style.indent > 0) out += '\n' + std::string(std::size_t(style.indent * depth), ' ');
  };
  if (out.size() > style.most) return;
  std::string_view comma = style.indent > 0 ? "," : ", ";
  if (value.is_object() || value.is_array()) {
    bool object = value.is_object();
    if (value.empty()) {
      out += object ? "{}" : "[]";
      return;
    }
    out += object ? '{' : '[';
    bool first = true;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (!first) out += comma;
      first = false;
      line(level + 1);
      if (object) {
        Quote(it.key(), style.ascii, out);
        out += ": ";
      }
      Write(*it, style, level + 1, out);
    }
    line(level);
    out += object ? '}' : ']';
  } else if (value.is_string()) {
    Quote(value.get_ref<const std::string&>(), style.ascii, out);
  } else if (value.is_boolean()) {
    out += value.get<bool>() ? "true" : "false";
  } else if (value.is_null()) {
    out += "null";
  } else {
    out += PythonNumber(value);
  }
}

}  // namespace

std::string PythonJson(const Json& value, const PythonJsonStyle& style) {
  std::string out;
  Write(value, style, 0, out);
  return out;
}

std::string PythonNumber(const Json& number) {
  if (!number.is_number_float()) return number.dump();
  using double_conversion::DoubleToStringConverter;
  static const DoubleToStringConverter converter(
      DoubleToStringConverter::EMIT_POSITIVE_EXPONENT_SIGN | DoubleToStringConverter::EMIT_TRAILING_DECIMAL_POINT |
          DoubleToStringConverter::EMIT_TRAILING_ZERO_AFTER_POINT | DoubleToStringConverter::NO_TRAILING_ZERO,
      "inf", "nan", 'e', -4, 16, 0, 0, 2);
  char buffer[64];
  double_conversion::StringBuilder builder(buffer, sizeof buffer);
  converter.ToShortest(number.get<double>(), &builder);
  return builder.Finalize();
}

std::string PythonText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  return PythonJson(value);
}

}  // namespace acl
