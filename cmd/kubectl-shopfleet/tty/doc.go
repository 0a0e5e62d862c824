// Package tty displays a text that changes.
//
// # Purpose
//
// On a terminal the package redraws the text in place, cut to the size of the terminal,
// with ages that advance every second; elsewhere it appends each new text.
//
// # Non-goals
//
// The package sends no requests. The caller renders the text.
//
// # Trade-offs
//
// It uses no alternate screen, so that the last text remains when the program exits. Where
// texts are appended, one that differs only in its ages is not new.
package tty
