// Package page renders the screens of kubectl shopfleet ui as HTML.
//
// # Purpose
//
// A Page writes a screen as a document, as the parts of it that are sent when they change, or all screens as one file that
// needs nothing else. The templates, our style and our script are beside the code, and the libraries of others in assets:
// htmx and its extension for streams, and the style of Pico. make page-assets brings them from npm.
//
// # Non-goals
//
// The package decides nothing: package view does. It serves nothing: package server does.
//
// # Trade-offs
//
//   - The server renders, so that the browser needs no model of the fleet, and the same templates write the file for a
//     ticket.
//   - No element has a style or a script of its own, so that the policy default-src 'self' is enough: bars are meters, and
//     what a key or a click does is in live.js. Of htmx nothing is used that compiles text.
//   - A state has a sign, a word and a colour, and what is outdated is hatched too: colour alone tells nothing.
package page
