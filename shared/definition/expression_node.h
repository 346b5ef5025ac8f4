#pragma once
// What an expression is made of (expression.h).

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/definition/template_scan.h"

namespace acl::expression {

enum class Op {
  kLiteral,
  kReference,
  kList,
  kFilters,
  kExists,
  kLength,
  kNegate,
  kNot,
  kAnd,
  kOr,
  kEqual,
  kUnequal,
  kLess,
  kAtMost,
  kGreater,
  kAtLeast,
  kIn,
  kNotIn,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
};

struct Node {
  Op op = Op::kLiteral;
  std::size_t offset = 0;  // of the operator, or of what it is
  Json literal;
  std::string path;  // of a reference, and of what exists() asks for
  std::vector<TemplateFilter> filters;
  std::vector<std::shared_ptr<const Node>> of;
};

// Of two operands, "" of others.
constexpr std::string_view TextOf(Op op) {
  switch (op) {
    case Op::kAnd: return "and";
    case Op::kOr: return "or";
    case Op::kEqual: return "==";
    case Op::kUnequal: return "!=";
    case Op::kLess: return "<";
    case Op::kAtMost: return "<=";
    case Op::kGreater: return ">";
    case Op::kAtLeast: return ">=";
    case Op::kIn: return "in";
    case Op::kNotIn: return "not in";
    case Op::kAdd: return "+";
    case Op::kSubtract: return "-";
    case Op::kMultiply: return "*";
    case Op::kDivide: return "/";
    case Op::kRemainder: return "%";
    default: return "";
  }
}

constexpr bool IsOrder(Op op) { return op == Op::kLess || op == Op::kAtMost || op == Op::kGreater || op == Op::kAtLeast; }
constexpr bool IsArithmetic(Op op) { return op >= Op::kAdd; }

// "a number", "a text" ... of a value, for messages.
std::string_view TypeName(const Json& value);
// Why the operator cannot be used on values of these types; empty: it can.
std::string WrongTypes(Op op, const Json& left, const Json& right);
std::string WrongLength(const Json& of);

}  // namespace acl::expression
