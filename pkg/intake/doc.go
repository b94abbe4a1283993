// Package intake reads finished runs of agent trials that were carried out
// elsewhere, so that they can be stored like runs of ours.
//
// Its format is a file of JSON lines, an object for each trial, with the fields of
// `evalfarm report -o jsonl`, of which a case and a score or a verdict are enough. A
// [Map] says where a file has them under other names. [Read] goes over the file to
// check every line and to lay out the plan of the run, and keeps where each line is;
// [Run.Each] reads the lines again in the order of the plan, in which a store takes
// them best.
package intake
