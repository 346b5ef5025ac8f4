#pragma once
// Checks of numbers on the command line, each with its range: "--after takes a whole number from 0 to 100, not '-1'".

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>

namespace acl::cli {

inline constexpr std::int64_t kMostNumber = (std::int64_t(1) << 53) - 1;  // of events and tokens

CLI::Validator WholeNumber(std::int64_t least, std::int64_t most);
// A length of time, "90" (seconds), "500ms", "2m" or "1h30m", up to a year; the option's value becomes seconds. For ->transform().
CLI::Validator Duration();
std::chrono::milliseconds LengthOf(double seconds);
CLI::Validator Decimal(double least, double most, const std::string& unit);

}  // namespace acl::cli
