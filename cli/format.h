#pragma once
// Text for people: tables, and reading of the API's JSON without trusting its shape.

#include <string>
#include <vector>

#include "cli/shown.h"
#include "shared/base/json.h"

namespace acl::cli {

// A member as text: strings as they are, null and missing as "", other values as JSON.
std::string TextOf(const Json& object, const std::string& key);
std::int64_t IntOf(const Json& object, const std::string& key, std::int64_t otherwise = 0);
// The list of a page: the body itself, or its one member that is a list of the usual name.
const Json& ItemsOf(const Json& body);

// "2026-11-22T01:02:03.123456Z" -> "2026-11-22 01:02:03Z"
std::string ShortTime(const std::string& time);
std::string Cut(const std::string& text, std::size_t most);  // by characters, with an ellipsis; line breaks become spaces

std::string OnOneLine(std::string text);  // line feeds and tabs as spaces

struct Cell {
  Cell(const std::string& plain) : shown(OnOneLine(plain)), text(shown.bytes()) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* plain) : Cell(std::string(plain)) {}                             // NOLINT(google-explicit-constructor)
  Cell(const std::string& plain, Shown painted) : shown(std::move(painted)), text(TerminalText(plain)) {}
  Shown shown;       // with colours
  std::string text;  // without them: for the width
};

class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  Shown Text() const;  // lines with their ends, columns two spaces apart

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace acl::cli
