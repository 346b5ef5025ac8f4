#pragma once
// What JSON becomes once it is read: many times its text. Requests with large bodies share one budget for that, asked before anything is
// read; runs that are read share the answers' (answer_budget.h).

#include "coordinator/api/api.h"

namespace acl::coordinator {

// Of a run's or an event's text, the memory of its values and of the texts that are made of it on the way. Measured: ./dev bench micro
// requests.
std::size_t RoomToRead(std::string_view json);
// Of a JSON body, what it takes to check it and to make its runs.
std::size_t RoomToHandle(std::string_view body);

// The handler for a route that takes JSON: answers 503 while others have too much of the budget. A body that is small is not counted.
HttpHandler WithinBudget(const ApiContext& api, HttpHandler handler);

}  // namespace acl::coordinator
