#include <charconv>

#include "shared/definition/template_scan.h"

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

// Appends, unless the text would become longer than it may.
class Splicer {
 public:
  Splicer(std::size_t most, std::string* out) : most_(most), out_(out) {}

  bool Write(const Json& value, int indent) {
    if (value.is_number_float()) return Put(FloatText(value.get<double>()));
    if (value.is_object() && !value.empty()) {
      bool first = true;
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        if (!Put(std::exchange(first, false) ? "{" : ",") || !Line(indent + 1) || !Dump(Json(key)) || !Put(": ") ||
            !Write(member, indent + 1))
          return false;
      }
      return Line(indent) && Put("}");
    }
    if (value.is_array() && !value.empty()) {
      bool first = true;
      for (const Json& item : value.get_ref<const Json::array_t&>()) {
        if (!Put(std::exchange(first, false) ? "[" : ",") || !Line(indent + 1) || !Write(item, indent + 1)) return false;
      }
      return Line(indent) && Put("]");
    }
    return Dump(value);
  }

  bool Put(std::string_view text) {
    if (out_->size() > most_ || text.size() > most_ - out_->size()) return false;
    out_->append(text);
    return true;
  }

 private:
  bool Line(int level) {
    static const std::string kLine = "\n" + std::string(2 * 128, ' ');
    return Put(std::string_view(kLine).substr(0, 1 + 2 * std::size_t(std::min(level, 128))));
  }
  bool Dump(const Json& value) {
    if (out_->size() > most_ || DumpedBytes(value) > most_ - out_->size()) return false;
    AppendJson(value, *out_);
    return true;
  }

  const std::size_t most_;
  std::string* const out_;
};

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

Error TooLarge(std::size_t most) {
  return {Code::kInvalid, "templates expand to more than " + std::to_string(most) + " bytes; pass large data by file"};
}

// One filter after the other on one value.
class Chain {
 public:
  Chain(const Json* value, TemplateBudget& budget) : budget_(budget) { on_.at = value; }

  Status Apply(const TemplateFilter& filter) {
    const std::string& name = filter.name;
    if (std::string wrong = WrongArguments(filter); !wrong.empty()) return Error{Code::kInvalid, "template " + wrong};
    const Json* value = on_.get();
    if (name == "default") return value ? Status() : Point(filter.arguments[0]);
    if (!value) return {};  // missing stays missing
    if (name == "json") return Dump(*value);
    if (name == "join") return Join(filter, *value);
    if (name == "length") return Length(filter, *value);
    if (name == "first" || name == "last") return End(filter, *value);
    if (!value->is_string()) return Wrong(filter, "needs a text");
    const auto& text = value->get_ref<const std::string&>();
    if (Status spent = budget_.SpendWork(text.size()); !spent) return spent;
    return Make(name == "trim" ? Trimmed(text) : Cased(text, name == "upper"));
  }

  Result<Referred> Take() && { return std::move(on_); }

 private:
  // A null counts as missing.
  Status Point(const Json& value) {
    if (!on_.is_made) {
      on_.at = value.is_null() ? nullptr : &value;
      return {};
    }
    return Make(Json(value));  // it may stand in what was made
  }
  Status Make(Json value) {
    on_.is_made = !value.is_null();
    on_.at = nullptr;
    on_.made = std::move(value);
    return {};
  }

  Status Dump(const Json& value) {
    const std::size_t bytes = DumpedBytes(value);
    if (Status spent = budget_.SpendWork(bytes); !spent) return spent;
    if (bytes > budget_.output_left()) return TooLarge(budget_.output());
    return Make(DumpJson(value));
  }

  Status Join(const TemplateFilter& filter, const Json& value) {
    if (!value.is_array()) return Wrong(filter, "needs a list");
    static const std::string kComma = ",";
    const std::string& separator = filter.arguments.empty() ? kComma : filter.arguments[0].get_ref<const std::string&>();
    std::string joined;
    Splicer splicer(budget_.output_left(), &joined);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::size_t before = joined.size();
      if (i > 0 && !splicer.Put(separator)) return TooLarge(budget_.output());
      if (!AppendSpliced(value[i], budget_.output_left(), &joined)) return TooLarge(budget_.output());
      if (Status spent = budget_.SpendWork(joined.size() - before + 8); !spent) return spent;
    }
    return Make(std::move(joined));
  }

  Status Length(const TemplateFilter& filter, const Json& value) {
    if (value.is_structured()) return Make(value.size());
    if (!value.is_string()) return Wrong(filter, "needs a text, a list or a map");
    const auto& text = value.get_ref<const std::string&>();
    if (Status spent = budget_.SpendWork(text.size()); !spent) return spent;
    return Make(CodePoints(text));
  }

  Status End(const TemplateFilter& filter, const Json& value) {
    const bool first = filter.name == "first";
    if (value.is_string()) return Make(EndOf(value.get_ref<const std::string&>(), first));
    if (!value.is_array()) return Wrong(filter, "needs a list or a text");
    if (value.empty()) return Make(nullptr);
    return Point(first ? value.front() : value.back());
  }

  TemplateBudget& budget_;
  Referred on_;
};

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

bool AppendSpliced(const Json& value, std::size_t most, std::string* out) {
  Splicer splicer(most, out);
  return value.is_string() ? splicer.Put(value.get_ref<const std::string&>()) : splicer.Write(value, 0);
}

std::string SpliceText(const Json& value) {
  std::string out;
  (void)AppendSpliced(value, std::size_t(-1), &out);
  return out;
}

Status TemplateBudget::SpendOutput(std::size_t bytes) {
  if (bytes > output_left_) return TooLarge(output_);
  output_left_ -= bytes;
  return {};
}

Status TemplateBudget::SpendWork(std::size_t bytes) {
  if (bytes > work_left_)
    return Error{Code::kInvalid, "templates read and write more than " + std::to_string(work_) +
                                     " bytes on their way; use fewer filters, or leave it to a step on a file"};
  work_left_ -= bytes;
  return {};
}

Result<Referred> ApplyFilters(const std::vector<TemplateFilter>& filters, const Json* value, TemplateBudget& budget) {
  Chain chain(value, budget);
  for (const TemplateFilter& filter : filters)
    if (Status applied = chain.Apply(filter); !applied) return applied.error();
  return std::move(chain).Take();
}

}  // namespace acl
