// Package farmfile reads farm.yaml, in which an operator says how a farm is run:
// where its Redis and its store are, how much it does at once, which servers suites
// may use by name, how fast it may call the models of a provider, with which keys, at
// which prices, what may be spent, and who is told of runs that are done.
//
// [Load] is as strict as the loader of suites. [Settings] is the table of all that
// is one value, with its flag, variable and default. [File.Apply] adds what the file
// says to the models of a suite, and [Resolve] finds the price of each.
package farmfile
