#pragma once
// Text for people: tables, and reading of the API's JSON without trusting its shape.

#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::cli {

// A member as text: strings as they are, null and missing as "", other values as JSON.
std::string TextOf(const Json& object, const std::string& key);
std::int64_t IntOf(const Json& object, const std::string& key, std::int64_t otherwise = 0);
// The list of a page: the body itself, or its one member that is a list of the usual name.
const Json& ItemsOf(const Json& body);

// "2026-11-22T01:02:03.123456Z" -> "2026-11-22 01:02:03"
std::string ShortTime(const std::string& time);
std::string Cut(const std::string& text, std::size_t most);  // by characters, with an ellipsis; line breaks become spaces

struct Cell {
  Cell(std::string plain) : text(plain), shown(std::move(plain)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* plain) : Cell(std::string(plain)) {}              // NOLINT(google-explicit-constructor)
  Cell(std::string plain, std::string painted) : text(std::move(plain)), shown(std::move(painted)) {}
  std::string text;   // for the width
  std::string shown;  // with colours
};

class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string Text() const;  // lines with their ends, columns two spaces apart

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace acl::cli
