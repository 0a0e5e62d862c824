// Package archtest tests the code base itself: the rules that keep it readable,
// checked where no linter exclusion hides anything.
//
// # Purpose
//
//   - Layers: every package belongs to a layer and imports only lower ones. The
//     layers are those of depguard in .golangci.yml, checked here from the
//     import graph of the go command. No rule names a package that does not exist,
//     and nothing below spoke imports the hub.
//   - Purity: decisions know no client, no context and no clock, and no cloud's
//     SDK leaves the adapter of that cloud.
//   - Sizes and names: files, folders, the top of the tree, a doc.go in each package
//     with the sections Purpose, Non-goals and Trade-offs.
//   - Vocabulary: banned phrases in comments and Markdown, and banned words in the
//     names of packages, files and identifiers. A receiver is an initial of its type.
//   - Hygiene: no path of one machine, no dead link between pages and their sections, a
//     table of contents in each page with many, no page with a test that does not exist, no error matched by its text, no docstring with
//     another function's name.
//
// # Non-goals
//
// What a linter does better: function length, complexity, style. Nothing is
// excused here: a rule that needs an exception is changed, with its reason, in
// the table that states it.
//
// # Trade-offs
//
// The table stands twice, here and in .golangci.yml: the linter answers in the
// editor, the test answers for the whole graph, also for a package that no rule
// of the linter names. A package without a rule of the linter fails the test.
package archtest
