// Package versions prints what versions there are: of the program, of the hub's cluster
// and of the members.
//
// What: Report and its forms.
//
// Not: nothing is asked for here.
package versions
