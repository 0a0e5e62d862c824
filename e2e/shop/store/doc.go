// Package store keeps the shop's products and orders in a database.
//
// # Purpose
//
// One Store for both engines, its Schema for each release, and orders that are placed once
// for each key, whatever breaks in between. Package storetest has the contract that every
// store keeps.
//
// # Non-goals
//
// No checks of what customers write; those are of package shop.
//
// # Trade-offs
//
// A second try after a lost response finds the order by its key and counts as a replay,
// although the first try made it.
package store
