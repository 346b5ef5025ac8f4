#pragma once
// What the routes of projects share (projects.cc: commands; project_readings.cc: readings).

#include "coordinator/api/request.h"
#include "coordinator/projects/desk.h"
#include "shared/kinds/project/operations.h"

namespace acl::coordinator {

// Of every answer's JSON; what is added to answers does not change it.
inline constexpr int kProjectSchemaVersion = 1;

// The project that the path names, by id or name: 404 if there is none, never another.
OrRefusal<ProjectDesk::Listed> ReadProject(const ApiContext& api, const HttpRequest& request);

// A desk's error: a reused key and what is out of reach 422, a quarantined project 409.
HttpResponse ProblemOfDesk(const Error& error);

// Of a command that was refused.
HttpResponse RefusedCommand(const ProjectDesk::Done& done);

// What is wrong with a request's arguments, with a place for each.
HttpResponse WrongArguments(int status, std::string_view code, const std::vector<project::WrongArgument>& wrong);

// Adds "references" to a next step: what it needs, and how each stands now.
void AddReferences(const ApiContext& api, const ProjectView& view, Json& next);
HttpResponse AnswerCommand(const ApiContext& api, const project::Operation& operation, const HttpRequest& request);
HttpResponse AnswerReading(const ApiContext& api, const project::Operation& operation, const HttpRequest& request);

}  // namespace acl::coordinator
