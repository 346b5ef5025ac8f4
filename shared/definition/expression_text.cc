// The one form of an expression: brackets only where the operators' ranks need them, so that it is nested no deeper than what was read.

#include "shared/definition/expression.h"
#include "shared/definition/expression_node.h"

namespace acl {

using expression::Node;
using expression::Op;

namespace {

// How strongly an operator binds, as the table in expression.h says.
enum Rank { kRankOr = 1, kRankAnd, kRankNot, kRankCompare, kRankSum, kRankProduct, kRankSign, kRankFilter, kRankWhole };

int RankOf(Op op) {
  switch (op) {
    case Op::kOr: return kRankOr;
    case Op::kAnd: return kRankAnd;
    case Op::kNot: return kRankNot;
    case Op::kAdd:
    case Op::kSubtract: return kRankSum;
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kRemainder: return kRankProduct;
    case Op::kNegate: return kRankSign;
    case Op::kFilters: return kRankFilter;
    default: return TextOf(op).empty() ? kRankWhole : kRankCompare;
  }
}

// A text as the reader of expressions takes it: JSON's other escapes mean something else there.
std::string QuotedText(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += c;
  }
  return out + "\"";
}

std::string LiteralText(const Json& literal) {
  if (literal.is_string()) return QuotedText(literal.get_ref<const std::string&>());
  if (!literal.is_array()) return DumpJson(literal);
  std::string out = "[";
  for (std::size_t n = 0; n < literal.size(); ++n) out += (n > 0 ? ", " : "") + LiteralText(literal[n]);
  return out + "]";
}

std::string Written(const Node& node);

// In brackets if it binds less than it must here.
std::string Part(const Node& node, int least) { return RankOf(node.op) < least ? "(" + Written(node) + ")" : Written(node); }

std::string FiltersText(const Node& node) {
  std::string text = Part(*node.of[0], kRankWhole);
  for (const TemplateFilter& filter : node.filters) {
    text += " | " + filter.name;
    for (std::size_t n = 0; n < filter.arguments.size(); ++n) text += (n > 0 ? ", " : "(") + LiteralText(filter.arguments[n]);
    if (!filter.arguments.empty()) text += ")";
  }
  return text;
}

// A sign right before digits would be part of the number.
std::string SignedText(const Node& node) {
  const std::string of = Part(*node.of[0], kRankSign);
  return (of[0] >= '0' && of[0] <= '9' ? "- " : "-") + of;
}

std::string Written(const Node& node) {
  switch (node.op) {
    case Op::kLiteral: return LiteralText(node.literal);
    case Op::kReference: return node.path;
    case Op::kExists: return "exists(" + node.path + ")";
    case Op::kLength: return "length(" + Written(*node.of[0]) + ")";
    case Op::kNot: return "not " + Part(*node.of[0], kRankNot);
    case Op::kNegate: return SignedText(node);
    case Op::kFilters: return FiltersText(node);
    case Op::kList: {
      std::string text = "[";
      for (std::size_t n = 0; n < node.of.size(); ++n) text += (n > 0 ? ", " : "") + Written(*node.of[n]);
      return text + "]";
    }
    default: break;
  }
  const int rank = RankOf(node.op), left = rank == kRankCompare ? rank + 1 : rank;  // comparisons do not go in a chain
  return Part(*node.of[0], left) + " " + std::string(TextOf(node.op)) + " " + Part(*node.of[1], rank + 1);
}

}  // namespace

std::string Expression::Canonical() const { return Written(*root_); }

}  // namespace acl
