/* The version of the library, the daemon and the command line tool. */
#ifndef FIS_VERSION_H
#define FIS_VERSION_H
#define FIS_VERSION "0.1.0"
#endif
