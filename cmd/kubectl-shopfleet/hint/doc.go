// Package hint gives errors a second sentence: what to do about them.
//
// What: an error that carries its advice, and advice for errors that carry none,
// by what they are: a server that does not answer, a kind that is not installed,
// credentials that are refused.
//
// Not: it does not print, and never looks at the text of an error.
//
// Trade-offs: the outermost advice wins, since who is nearer to the person knows
// more of what they wanted.
package hint
