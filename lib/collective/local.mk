# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/collective/adasum.c lib/collective/adasum.h lib/collective/adasum_impl.h \
	lib/collective/adasum_math.c lib/collective/adasum_math.h \
	lib/collective/adasum_memory.c \
	lib/collective/adasum_schedule.c lib/collective/adasum_schedule.h \
	lib/collective/algorithm.c lib/collective/algorithm.h \
	lib/collective/allgather_ring.c \
	lib/collective/allreduce_ring.c \
	lib/collective/allreduce_tree.c lib/collective/allreduce_tree.h \
	lib/collective/alltoall_pairwise.c lib/collective/alltoall_pairwise.h \
	lib/collective/broadcast_linear.c lib/collective/broadcast_linear.h \
	lib/collective/broadcast_ring.c \
	lib/collective/broadcast_tree.c lib/collective/broadcast_tree.h \
	lib/collective/direct.c lib/collective/direct.h \
	lib/collective/direct_flow.c lib/collective/direct_flow.h \
	lib/collective/direct_schedule.c lib/collective/direct_schedule.h \
	lib/collective/doubling.c lib/collective/doubling.h \
	lib/collective/doubling_schedule.c lib/collective/doubling_schedule.h \
	lib/collective/exchange.c lib/collective/exchange.h \
	lib/collective/exchange_flow.c lib/collective/exchange_flow.h \
	lib/collective/exchange_schedule.c lib/collective/exchange_schedule.h \
	lib/collective/halving_doubling.c \
	lib/collective/linear_flow.c lib/collective/linear_flow.h \
	lib/collective/operation.c lib/collective/operation.h \
	lib/collective/operation_impl.h \
	lib/collective/operation_store.c \
	lib/collective/piece.c lib/collective/piece.h \
	lib/collective/placing.c lib/collective/placing.h \
	lib/collective/recursive_doubling.c \
	lib/collective/reduce_scatter_ring.c \
	lib/collective/ring.c lib/collective/ring.h \
	lib/collective/ring_flow.c lib/collective/ring_flow.h \
	lib/collective/ring_schedule.c lib/collective/ring_schedule.h \
	lib/collective/tree_schedule.c lib/collective/tree_schedule.h \
	lib/collective/two_level.c lib/collective/two_level.h \
	lib/collective/two_level_schedule.c lib/collective/two_level_schedule.h
