// Package tty displays a text that changes.
//
// # Purpose
//
// On a terminal the text is redrawn in place, cut to the size of the terminal,
// with ages that advance every second; elsewhere each new text is appended.
//
// # Non-goals
//
// It sends no requests. The caller renders the text.
//
// # Trade-offs
//
// No alternate screen, so that the last text remains when the program
// exits. Where texts are appended, one that differs only in its ages is not new.
package tty
