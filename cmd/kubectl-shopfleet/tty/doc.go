// Package tty shows a text that changes.
//
// What: on a terminal the text is drawn over itself, cut to what fits, and its ages
// are counted on; elsewhere each new text follows the last.
//
// Not: it asks nobody anything: what to show is handed in.
//
// Trade-offs: no alternate screen, so that what was last shown stays when the
// program ends. A text that differs only in its ages is the same text where it
// would have to be written again.
package tty
