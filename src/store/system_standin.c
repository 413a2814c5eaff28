#include "rpistat/system_standin.h"
#include <stdlib.h>
#include <string.h>
#include "reader.h"
static const struct rps_system_signal tree[]={{"running","Running","us",RPS_SYSTEM_COUNTER,"x","x"},
{"wait","Waiting for a CPU","us",RPS_SYSTEM_COUNTER,"x","x"},
{"unseen","Unseen","us",RPS_SYSTEM_COUNTER,"x","x"},
{"threads","Threads","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"in_io","In io","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"in_lock","In lock","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"in_message","In message","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"in_timer","In timer","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"in_child","In child","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"in_other","In other","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"rss","Resident memory","KiB",RPS_SYSTEM_GAUGE,"x","x"},
{"read","read","KiB",RPS_SYSTEM_COUNTER,"x","x"},
{"written","written","KiB",RPS_SYSTEM_COUNTER,"x","x"},
{"disk_read","disk_read","KiB",RPS_SYSTEM_COUNTER,"x","x"},
{"disk_written","disk_written","KiB",RPS_SYSTEM_COUNTER,"x","x"}};
static const struct rps_system_signal mach[]={{"m_wait","Threads waiting","threads",RPS_SYSTEM_GAUGE,"x","x"},
{"m_steal","Steal","us",RPS_SYSTEM_COUNTER,"x","x"},
{"m_iowait","x","us",RPS_SYSTEM_COUNTER,"x","x"},
{"m_psi_cpu","x","us",RPS_SYSTEM_COUNTER,"x","x"},
{"m_psi_io","x","us",RPS_SYSTEM_COUNTER,"x","x"},
{"m_psi_memory","x","us",RPS_SYSTEM_COUNTER,"x","x"},
{"m_available","x","KiB",RPS_SYSTEM_GAUGE,"x","x"},
{"m_disk_read","x","KiB",RPS_SYSTEM_COUNTER,"x","x"},
{"m_disk_written","x","KiB",RPS_SYSTEM_COUNTER,"x","x"},
{"m_net_in","x","KiB",RPS_SYSTEM_COUNTER,"x","x"},
{"m_net_out","x","KiB",RPS_SYSTEM_COUNTER,"x","x"}};
const struct rps_system_signal *const rps_system_signals[RPS_SYSTEM_SOURCES]={tree,mach};
const int rps_system_signal_count[RPS_SYSTEM_SOURCES]={15,11};
const char *const rps_system_sources[RPS_SYSTEM_SOURCES]={"tree","machine"};
struct rps_system_cursor { sqlite3_stmt *stmt; enum rps_system_source source; struct rps_reader *reader; };
int rps_system_cursor_open(struct rps_system_cursor **ret, struct rps_reader *reader, int64_t run_id,
                           enum rps_system_source source, int64_t from_ns, int64_t to_ns,
                           int resolution, struct rps_error *err)
{
    struct rps_system_cursor *c=calloc(1,sizeof(*c)); (void)resolution;
    c->source=source; c->reader=reader;
    if (sqlite3_prepare_v2(reader->db,"SELECT period,end_ns,length_us,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11,s12,s13,s14,s15 FROM reading WHERE run_id=?1 AND source=?2 AND end_ns>?3 AND end_ns-length_us*500<?4 ORDER BY period",-1,&c->stmt,NULL)!=SQLITE_OK)
        return rps_reader_error(reader,1,err);
    sqlite3_bind_int64(c->stmt,1,run_id); sqlite3_bind_int(c->stmt,2,source);
    sqlite3_bind_int64(c->stmt,3,from_ns); sqlite3_bind_int64(c->stmt,4,to_ns);
    *ret=c; return 0;
}
int rps_system_cursor_next(struct rps_system_cursor *c, struct rps_system_row *ret, struct rps_error *err)
{
    int rc=sqlite3_step(c->stmt); (void)err;
    if (rc!=SQLITE_ROW) return 0;
    memset(ret,0,sizeof(*ret)); ret->source=c->source;
    ret->period=ret->last_period=(uint64_t)sqlite3_column_int64(c->stmt,0);
    ret->end_ns=sqlite3_column_int64(c->stmt,1); ret->length_us=sqlite3_column_int64(c->stmt,2);
    for(int s=0;s<16;s++){ double v; if(sqlite3_column_type(c->stmt,3+s)==SQLITE_NULL) continue;
        ret->readings[s]=1; ret->sum[s]=sqlite3_column_int64(c->stmt,3+s);
        v=(double)ret->sum[s]; if (s<rps_system_signal_count[c->source]&&rps_system_signals[c->source][s].kind==RPS_SYSTEM_COUNTER) v=v/(double)ret->length_us*1e6;
        ret->lowest[s]=ret->highest[s]=v; }
    return 1;
}
void rps_system_cursor_close(struct rps_system_cursor *c){ if(c) sqlite3_finalize(c->stmt); free(c); }
