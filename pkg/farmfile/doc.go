// Package farmfile reads farm.yaml, in which an operator says how fast the farm
// may call the models of a provider, with which keys, at which prices, what may be
// spent, and who is told of runs that are done.
//
// [Load] is as strict as the loader of suites. [File.Apply] adds what the file
// says to the models of a suite, and [Resolve] finds the price of each.
package farmfile
