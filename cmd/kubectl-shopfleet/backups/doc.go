// Package backups has the commands about backups: backup, backups and restore.
//
// What: their flags, what they say, and the order of their steps. Each makes an object
// on the hub and follows it; the hub does the rest.
//
// Not: nothing of a cloud is asked from here, and it makes no connection; the program
// hands one in.
//
// Trade-offs: an interruption leaves a backup or a restore that was begun to the hub,
// since half of one helps nobody; the message says how to look at it and how to end it.
package backups
