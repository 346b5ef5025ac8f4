#pragma once
// Command lines of the benchmark's programs: words, then `--name value`; a name may stand several times.

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace acl::bench {

class Arguments {
 public:
  // `switches`: names that take no value.
  Arguments(int argc, char** argv, const std::vector<std::string>& switches = {}) {
    for (int i = 1; i < argc; ++i) {
      const std::string text = argv[i];
      const bool short_name = text.size() == 2 && text[0] == '-' && text[1] != '-';
      if (!short_name && !text.starts_with("--")) {
        words_.push_back(text);
        continue;
      }
      const std::string name = text.substr(short_name ? 1 : 2);
      if (std::find(switches.begin(), switches.end(), name) != switches.end()) {
        values_[name].push_back("true");
      } else if (++i < argc) {
        values_[name].push_back(argv[i]);
      } else {
        throw std::runtime_error(text + " needs a value");
      }
    }
  }

  const std::vector<std::string>& words() const { return words_; }
  bool Has(const std::string& name) {
    known_.push_back(name);
    return values_.contains(name);
  }
  std::string Text(const std::string& name, const std::string& otherwise) { return Has(name) ? values_.at(name).back() : otherwise; }
  std::vector<std::string> All(const std::string& name) { return Has(name) ? values_.at(name) : std::vector<std::string>(); }
  double Number(const std::string& name, double otherwise) {
    if (!Has(name)) return otherwise;
    std::size_t read = 0;
    const std::string& text = values_.at(name).back();
    double value = 0;
    try {
      value = std::stod(text, &read);
    } catch (const std::exception&) {
      read = std::string::npos;
    }
    if (read != text.size() || !(value >= 0)) throw std::runtime_error("--" + name + " is a number: \"" + text + "\"");
    return value;
  }
  int Int(const std::string& name, int otherwise) { return static_cast<int>(Number(name, otherwise)); }
  // After everything was asked for: what nobody knows is an error, not ignored.
  void RefuseOthers() const {
    for (const auto& [name, values] : values_) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) throw std::runtime_error("unknown option --" + name);
    }
  }

 private:
  std::vector<std::string> words_, known_;
  std::map<std::string, std::vector<std::string>> values_;
};

// "1,16,64" -> {"1", "16", "64"}
inline std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace acl::bench
