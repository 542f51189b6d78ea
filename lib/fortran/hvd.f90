! SPDX-License-Identifier: Apache-2.0
!> libhvd for Fortran 2018, on top of hvd.h; hvd_fortran(3) has the manual.
!>
!>     use hvd
!>     call hvd_init()
!>     call hvd_allreduce('gradient', gradient, HVD_AVERAGE)   ! in place
!>     call hvd_shutdown()
!>
!> Collectives are generic: arrays of real32, real64, int32 and int64 of any rank, and scalars.
!> Elements are counted in array element order; what is gathered or exchanged has no shape, and
!> comes as an array of rank 1.
!>
!> Each call has an optional `ierr`: HVD_OK or a negative status of hvd.h, of which
!> hvd_last_error() tells the text. Without `ierr` a failure ends the program with that text
!> (error stop). Calls may be made from any thread.
!>
!> The array of hvd_allreduce_async must be contiguous, have the attribute asynchronous or target in
!> the caller, and be left alone until hvd_wait() returns. Other calls copy what is not contiguous.
module hvd
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
    implicit none
    private

    public :: hvd_init, hvd_shutdown, hvd_is_initialized
    public :: hvd_rank, hvd_size, hvd_local_rank, hvd_local_size, hvd_cross_rank, hvd_cross_size
    public :: hvd_allreduce, hvd_allreduce_async, hvd_wait, hvd_poll
    public :: hvd_broadcast, hvd_allgather, hvd_alltoall, hvd_reducescatter, hvd_share
    public :: hvd_barrier, hvd_join
    public :: hvd_add_process_set, hvd_remove_process_set
    public :: hvd_last_error, hvd_strstatus, hvd_version

    ! enum hvd_status
    integer, parameter, public :: HVD_OK = 0, HVD_ERR_INVALID = -1, HVD_ERR_NOT_INITIALIZED = -2, &
        HVD_ERR_ENVIRONMENT = -3, HVD_ERR_NOMEM = -4, HVD_ERR_SYSTEM = -5, HVD_ERR_PROTOCOL = -6, &
        HVD_ERR_AUTH = -7, HVD_ERR_TIMEOUT = -8, HVD_ERR_MISMATCH = -9, HVD_ERR_PEER_LOST = -10, &
        HVD_ERR_PEER_LEFT = -11, HVD_ERR_SHUT_DOWN = -12, HVD_ERR_FORKED = -13, HVD_ERR_STALE = -14, &
        HVD_ERR_REMOVED = -15, HVD_HOSTS_UPDATED = -16, HVD_ERR_INTERRUPTED = -17

    ! enum hvd_op
    integer(c_int), parameter, public :: HVD_AVERAGE = 0, HVD_SUM = 1, HVD_ADASUM = 2, HVD_MIN = 3, &
        HVD_MAX = 4, HVD_PRODUCT = 5

    ! enum hvd_dtype
    integer(c_int), parameter :: HVD_INT32 = 4, HVD_INT64 = 5, HVD_FLOAT32 = 7, HVD_FLOAT64 = 8

    ! struct hvd_tensor, hvd_options and hvd_result
    type, bind(C) :: hvd_tensor
        type(c_ptr) :: name = c_null_ptr
        type(c_ptr) :: input = c_null_ptr
        type(c_ptr) :: output = c_null_ptr
        integer(c_size_t) :: output_size = 0
        integer(c_int) :: dtype = 0
        integer(c_int) :: ndims = 1
        type(c_ptr) :: dims = c_null_ptr
        integer(c_int) :: device = 0
        type(c_ptr) :: ready = c_null_ptr
    end type

    type, bind(C) :: hvd_options
        integer(c_int) :: process_set = 0
        real(c_double) :: prescale = 1
        real(c_double) :: postscale = 1
        type(c_ptr) :: interrupt = c_null_ptr
    end type

    type, bind(C) :: hvd_result
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: dim0 = 0
        integer(c_size_t) :: size = 0
        type(c_ptr) :: rows = c_null_ptr
        integer(c_int) :: nrows = 0
        integer(c_int) :: last_rank = -1
        type(c_ptr) :: memory = c_null_ptr
    end type

    interface
        function c_init() bind(C, name='hvd_init') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_shutdown() bind(C, name='hvd_shutdown') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_is_initialized() bind(C, name='hvd_is_initialized') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_rank() bind(C, name='hvd_rank') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_size() bind(C, name='hvd_size') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_local_rank() bind(C, name='hvd_local_rank') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_local_size() bind(C, name='hvd_local_size') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_cross_rank() bind(C, name='hvd_cross_rank') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_cross_size() bind(C, name='hvd_cross_size') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_allreduce_async(tensor, op, options, handle) bind(C, name='hvd_allreduce_async') result(rc)
            import :: c_int, c_int64_t, hvd_tensor, hvd_options
            type(hvd_tensor), intent(in) :: tensor
            integer(c_int), value :: op
            type(hvd_options), intent(in) :: options
            integer(c_int64_t), intent(out) :: handle
            integer(c_int) :: rc
        end function
        function c_broadcast_async(tensor, root, options, handle) bind(C, name='hvd_broadcast_async') result(rc)
            import :: c_int, c_int64_t, hvd_tensor, hvd_options
            type(hvd_tensor), intent(in) :: tensor
            integer(c_int), value :: root
            type(hvd_options), intent(in) :: options
            integer(c_int64_t), intent(out) :: handle
            integer(c_int) :: rc
        end function
        function c_allgather_async(tensor, options, handle) bind(C, name='hvd_allgather_async') result(rc)
            import :: c_int, c_int64_t, hvd_tensor, hvd_options
            type(hvd_tensor), intent(in) :: tensor
            type(hvd_options), intent(in) :: options
            integer(c_int64_t), intent(out) :: handle
            integer(c_int) :: rc
        end function
        function c_alltoall_async(tensor, splits, nsplits, options, handle) &
            bind(C, name='hvd_alltoall_async') result(rc)
            import :: c_int, c_int64_t, c_ptr, hvd_tensor, hvd_options
            type(hvd_tensor), intent(in) :: tensor
            type(c_ptr), value :: splits
            integer(c_int), value :: nsplits
            type(hvd_options), intent(in) :: options
            integer(c_int64_t), intent(out) :: handle
            integer(c_int) :: rc
        end function
        function c_reducescatter_async(tensor, op, options, handle) &
            bind(C, name='hvd_reducescatter_async') result(rc)
            import :: c_int, c_int64_t, hvd_tensor, hvd_options
            type(hvd_tensor), intent(in) :: tensor
            integer(c_int), value :: op
            type(hvd_options), intent(in) :: options
            integer(c_int64_t), intent(out) :: handle
            integer(c_int) :: rc
        end function
        function c_wait(handle) bind(C, name='hvd_wait') result(rc)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: handle
            integer(c_int) :: rc
        end function
        function c_wait_result(handle, result) bind(C, name='hvd_wait_result') result(rc)
            import :: c_int, c_int64_t, hvd_result
            integer(c_int64_t), value :: handle
            type(hvd_result), intent(out) :: result
            integer(c_int) :: rc
        end function
        function c_poll(handle) bind(C, name='hvd_poll') result(rc)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: handle
            integer(c_int) :: rc
        end function
        subroutine c_result_free(result) bind(C, name='hvd_result_free')
            import :: hvd_result
            type(hvd_result), intent(inout) :: result
        end subroutine
        function c_share(rows, size, rank) bind(C, name='hvd_share') result(share)
            import :: c_int, c_int64_t
            integer(c_int64_t), value :: rows
            integer(c_int), value :: size, rank
            integer(c_int64_t) :: share
        end function
        function c_barrier() bind(C, name='hvd_barrier') result(rc)
            import :: c_int
            integer(c_int) :: rc
        end function
        function c_join(last_rank) bind(C, name='hvd_join') result(rc)
            import :: c_int
            integer(c_int), intent(out) :: last_rank
            integer(c_int) :: rc
        end function
        function c_add_process_set(ranks, count) bind(C, name='hvd_add_process_set') result(rc)
            import :: c_int
            integer(c_int), intent(in) :: ranks(*)
            integer(c_int), value :: count
            integer(c_int) :: rc
        end function
        function c_remove_process_set(process_set) bind(C, name='hvd_remove_process_set') result(rc)
            import :: c_int
            integer(c_int), value :: process_set
            integer(c_int) :: rc
        end function
        function c_last_error() bind(C, name='hvd_last_error') result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function c_strstatus(status) bind(C, name='hvd_strstatus') result(text)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: text
        end function
        function c_version() bind(C, name='hvd_version') result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function c_strlen(text) bind(C, name='strlen') result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

    !> call hvd_allreduce(name, x, op [, ierr, process_set, prescale, postscale])
    !> Reduces x over all ranks, in place. `name` is the same on all ranks; '' is none.
    interface hvd_allreduce
        module procedure allreduce_real32, allreduce_real64, allreduce_int32, allreduce_int64
    end interface

    !> call hvd_allreduce_async(name, x, op, handle [, ierr, process_set, prescale, postscale])
    interface hvd_allreduce_async
        module procedure allreduce_async_real32, allreduce_async_real64, allreduce_async_int32, &
            allreduce_async_int64
    end interface

    !> call hvd_broadcast(name, x, root [, ierr, process_set])
    !> Copies x of rank `root` to x of all others.
    interface hvd_broadcast
        module procedure broadcast_real32, broadcast_real64, broadcast_int32, broadcast_int64
    end interface

    !> call hvd_allgather(name, input, output [, ierr, process_set])
    !> Puts the inputs of all ranks, whose sizes may differ, together in order of rank; allocates
    !> `output`.
    interface hvd_allgather
        module procedure allgather_real32, allgather_real64, allgather_int32, allgather_int64
    end interface

    !> call hvd_alltoall(name, input, splits, output [, received, ierr, process_set])
    !> Sends splits(i) elements to rank i - 1, taken in order; allocates `output` for what comes,
    !> and `received` for how many elements have come from each rank. The splits are as many as the
    !> set has ranks.
    interface hvd_alltoall
        module procedure alltoall_real32, alltoall_real64, alltoall_int32, alltoall_int64
    end interface

    !> call hvd_reducescatter(name, input, output, op [, ierr, process_set])
    !> Reduces, and leaves each rank its share: hvd_share() elements, for which `output` has room.
    interface hvd_reducescatter
        module procedure reducescatter_real32, reducescatter_real64, reducescatter_int32, &
            reducescatter_int64
    end interface

contains

    ! ---- failures and texts ----

    function text_at(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer(c_size_t) :: i, length
        length = c_strlen(pointer)
        call c_f_pointer(pointer, letters, [length])
        allocate (character(len=length) :: text)
        do i = 1, length
            text(i:i) = letters(i)
        end do
    end function

    !> The text of the last failure of a call in this thread; '' if there was none.
    function hvd_last_error() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_last_error())
    end function

    !> A short text for a status.
    function hvd_strstatus(status) result(text)
        integer, intent(in) :: status
        character(len=:), allocatable :: text
        text = text_at(c_strstatus(int(status, c_int)))
    end function

    !> The version of the library that is running.
    function hvd_version() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_version())
    end function

    !> What a call returns goes to the caller, or ends the program.
    subroutine answer(rc, ierr)
        integer(c_int), intent(in) :: rc
        integer, intent(out), optional :: ierr
        if (present(ierr)) then
            ierr = min(int(rc), HVD_OK)
        else if (rc < 0) then
            write (error_unit, '(a)') hvd_last_error()
            flush (error_unit)
            error stop 1
        end if
    end subroutine

    !> A mistake that the C library cannot see.
    subroutine refuse(text, ierr)
        character(len=*), intent(in) :: text
        integer, intent(out), optional :: ierr
        if (present(ierr)) then
            ierr = HVD_ERR_INVALID
        else
            write (error_unit, '(a)') text
            flush (error_unit)
            error stop 1
        end if
    end subroutine

    ! ---- the world ----

    !> Joins, and blocks until every rank has joined.
    subroutine hvd_init(ierr)
        integer, intent(out), optional :: ierr
        call answer(c_init(), ierr)
    end subroutine

    !> Leaves.
    subroutine hvd_shutdown(ierr)
        integer, intent(out), optional :: ierr
        call answer(c_shutdown(), ierr)
    end subroutine

    logical function hvd_is_initialized()
        hvd_is_initialized = c_is_initialized() == 1
    end function

    !> Ranks count from 0; or a negative status, before hvd_init() and after hvd_shutdown().
    integer function hvd_rank()
        hvd_rank = c_rank()
    end function

    integer function hvd_size()
        hvd_size = c_size()
    end function

    integer function hvd_local_rank()
        hvd_local_rank = c_local_rank()
    end function

    integer function hvd_local_size()
        hvd_local_size = c_local_size()
    end function

    integer function hvd_cross_rank()
        hvd_cross_rank = c_cross_rank()
    end function

    integer function hvd_cross_size()
        hvd_cross_size = c_cross_size()
    end function

    !> Returns when every rank has come.
    subroutine hvd_barrier(ierr)
        integer, intent(out), optional :: ierr
        call answer(c_barrier(), ierr)
    end subroutine

    !> This rank has no more data: it takes part in the allreduces of others with zeros, until all
    !> ranks have joined.
    subroutine hvd_join(last_rank, ierr)
        integer, intent(out), optional :: last_rank, ierr
        integer(c_int) :: last, rc
        rc = c_join(last)
        if (present(last_rank)) last_rank = last
        call answer(rc, ierr)
    end subroutine

    !> Makes a set of ranks, which every rank of the world does alike; a number for `process_set`.
    function hvd_add_process_set(ranks, ierr) result(process_set)
        integer, intent(in) :: ranks(:)
        integer, intent(out), optional :: ierr
        integer(c_int) :: process_set
        process_set = c_add_process_set(int(ranks, c_int), size(ranks, kind=c_int))
        call answer(process_set, ierr)
    end function

    subroutine hvd_remove_process_set(process_set, ierr)
        integer(c_int), intent(in) :: process_set
        integer, intent(out), optional :: ierr
        call answer(c_remove_process_set(process_set), ierr)
    end subroutine

    !> How many of `n` elements a rank gets from hvd_reducescatter() over `nranks` ranks.
    integer(c_int64_t) function hvd_share(n, nranks, rank)
        integer(c_int64_t), intent(in) :: n
        integer, intent(in) :: nranks, rank
        hvd_share = c_share(n, int(nranks, c_int), int(rank, c_int))
    end function

    ! ---- collectives of any type ----

    !> Waits until the collective is done, and ends the handle.
    subroutine hvd_wait(handle, ierr)
        integer(c_int64_t), intent(inout) :: handle
        integer, intent(out), optional :: ierr
        integer(c_int) :: rc
        rc = c_wait(handle)
        handle = -1
        call answer(rc, ierr)
    end subroutine

    !> True if hvd_wait() would return at once.
    logical function hvd_poll(handle)
        integer(c_int64_t), intent(in) :: handle
        hvd_poll = c_poll(handle) /= 0
    end function

    !> A tensor of one dimension; `c_name` and `dims` are the caller's, and live as long.
    function tensor_of(name, c_name, input, output, output_size, dims, dtype) result(tensor)
        character(len=*), intent(in) :: name
        character(kind=c_char), intent(out), target :: c_name(:)
        type(c_ptr), intent(in) :: input, output
        integer(c_int64_t), intent(in) :: output_size
        integer(c_int64_t), intent(in), target :: dims(1)
        integer(c_int), intent(in) :: dtype
        type(hvd_tensor) :: tensor
        integer :: i
        do i = 1, len(name)
            c_name(i) = name(i:i)
        end do
        c_name(len(name) + 1) = c_null_char
        if (len(name) > 0) tensor%name = c_loc(c_name)
        tensor%input = input
        tensor%output = output
        tensor%output_size = output_size
        tensor%dims = c_loc(dims)
        tensor%dtype = dtype
    end function

    function options_of(process_set, prescale, postscale) result(options)
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        type(hvd_options) :: options
        if (present(process_set)) options%process_set = process_set
        if (present(prescale)) options%prescale = prescale
        if (present(postscale)) options%postscale = postscale
    end function

    subroutine reduce_start(name, x, count, dtype, op, handle, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        type(c_ptr), intent(in) :: x
        integer(c_int64_t), intent(in) :: count
        integer(c_int), intent(in) :: dtype, op
        integer(c_int64_t), intent(out) :: handle
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        character(kind=c_char), target :: c_name(len(name) + 1)
        integer(c_int64_t), target :: dims(1)
        dims = count
        handle = -1
        call answer(c_allreduce_async(tensor_of(name, c_name, x, x, 0_c_int64_t, dims, dtype), op, &
            options_of(process_set, prescale, postscale), handle), ierr)
    end subroutine

    subroutine reduce(name, x, count, dtype, op, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        type(c_ptr), intent(in) :: x
        integer(c_int64_t), intent(in) :: count
        integer(c_int), intent(in) :: dtype, op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        integer(c_int64_t) :: handle
        call reduce_start(name, x, count, dtype, op, handle, ierr, process_set, prescale, postscale)
        if (handle >= 0) call hvd_wait(handle, ierr)
    end subroutine

    subroutine copy_from(name, x, count, dtype, root, ierr, process_set)
        character(len=*), intent(in) :: name
        type(c_ptr), intent(in) :: x
        integer(c_int64_t), intent(in) :: count
        integer(c_int), intent(in) :: dtype
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        character(kind=c_char), target :: c_name(len(name) + 1)
        integer(c_int64_t), target :: dims(1)
        integer(c_int64_t) :: handle
        integer(c_int) :: rc
        dims = count
        rc = c_broadcast_async(tensor_of(name, c_name, x, x, 0_c_int64_t, dims, dtype), &
            int(root, c_int), options_of(process_set), handle)
        if (rc >= 0) rc = c_wait(handle)
        call answer(rc, ierr)
    end subroutine

    subroutine gather(name, input, count, dtype, result, ierr, process_set)
        character(len=*), intent(in) :: name
        type(c_ptr), intent(in) :: input
        integer(c_int64_t), intent(in) :: count
        integer(c_int), intent(in) :: dtype
        type(hvd_result), intent(out) :: result
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        character(kind=c_char), target :: c_name(len(name) + 1)
        integer(c_int64_t), target :: dims(1)
        integer(c_int64_t) :: handle
        integer(c_int) :: rc
        dims = count
        rc = c_allgather_async(tensor_of(name, c_name, input, c_null_ptr, 0_c_int64_t, dims, dtype), &
            options_of(process_set), handle)
        if (rc >= 0) rc = c_wait_result(handle, result)
        call answer(rc, ierr)
    end subroutine

    subroutine exchange(name, input, count, splits, dtype, result, ierr, process_set)
        character(len=*), intent(in) :: name
        type(c_ptr), intent(in) :: input
        integer(c_int64_t), intent(in) :: count
        integer(c_int64_t), intent(in), target :: splits(:)
        integer(c_int), intent(in) :: dtype
        type(hvd_result), intent(out) :: result
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        character(kind=c_char), target :: c_name(len(name) + 1)
        integer(c_int64_t), target :: dims(1)
        integer(c_int64_t), allocatable, target :: contiguous_splits(:)
        integer(c_int64_t) :: handle
        integer(c_int) :: rc
        dims = count
        allocate (contiguous_splits, source=splits)
        rc = c_alltoall_async(tensor_of(name, c_name, input, c_null_ptr, 0_c_int64_t, dims, dtype), &
            c_loc(contiguous_splits), size(splits, kind=c_int), options_of(process_set), handle)
        if (rc >= 0) rc = c_wait_result(handle, result)
        call answer(rc, ierr)
    end subroutine

    !> How many rows have come from each rank.
    function rows_of(result) result(rows)
        type(hvd_result), intent(in) :: result
        integer(c_int64_t), allocatable :: rows(:)
        integer(c_int64_t), pointer :: all(:)
        allocate (rows(0))
        if (.not. c_associated(result%rows)) return
        call c_f_pointer(result%rows, all, [result%nrows])
        rows = all
    end function

    subroutine reduce_share(name, input, count, output, output_size, dtype, op, ierr, process_set)
        character(len=*), intent(in) :: name
        type(c_ptr), intent(in) :: input, output
        integer(c_int64_t), intent(in) :: count, output_size
        integer(c_int), intent(in) :: dtype, op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        character(kind=c_char), target :: c_name(len(name) + 1)
        integer(c_int64_t), target :: dims(1)
        integer(c_int64_t) :: handle
        integer(c_int) :: rc
        dims = count
        rc = c_reducescatter_async(tensor_of(name, c_name, input, output, output_size, dims, dtype), op, &
            options_of(process_set), handle)
        if (rc >= 0) rc = c_wait(handle)
        call answer(rc, ierr)
    end subroutine

    ! ---- real32 ----

    subroutine allreduce_real32(name, x, op, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        real(real32), intent(inout), contiguous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        call reduce(name, c_loc(x), size(x, kind=c_int64_t), HVD_FLOAT32, op, ierr, process_set, prescale, postscale)
    end subroutine

    subroutine allreduce_async_real32(name, x, op, handle, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        real(real32), intent(inout), asynchronous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer(c_int64_t), intent(out) :: handle
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        handle = -1
        if (.not. is_contiguous(x)) then
            call refuse('hvd_allreduce_async: the array is not contiguous', ierr)
        else
            call reduce_start(name, c_loc(x), size(x, kind=c_int64_t), HVD_FLOAT32, op, handle, ierr, &
                process_set, prescale, postscale)
        end if
    end subroutine

    subroutine broadcast_real32(name, x, root, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real32), intent(inout), contiguous, target :: x(..)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call copy_from(name, c_loc(x), size(x, kind=c_int64_t), HVD_FLOAT32, root, ierr, process_set)
    end subroutine

    subroutine allgather_real32(name, input, output, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real32), intent(in), contiguous, target :: input(..)
        real(real32), allocatable, intent(out) :: output(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        real(real32), pointer :: all(:)
        call gather(name, c_loc(input), size(input, kind=c_int64_t), HVD_FLOAT32, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        call c_result_free(result)
    end subroutine

    subroutine alltoall_real32(name, input, splits, output, received, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real32), intent(in), contiguous, target :: input(..)
        integer(c_int64_t), intent(in), target :: splits(:)
        real(real32), allocatable, intent(out) :: output(:)
        integer(c_int64_t), allocatable, intent(out), optional :: received(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        real(real32), pointer :: all(:)
        call exchange(name, c_loc(input), size(input, kind=c_int64_t), splits, HVD_FLOAT32, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        if (present(received)) received = rows_of(result)
        call c_result_free(result)
    end subroutine

    subroutine reducescatter_real32(name, input, output, op, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real32), intent(in), contiguous, target :: input(..)
        real(real32), intent(inout), contiguous, target :: output(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call reduce_share(name, c_loc(input), size(input, kind=c_int64_t), c_loc(output), &
            size(output, kind=c_int64_t) * storage_size(output) / 8, HVD_FLOAT32, op, ierr, process_set)
    end subroutine

    ! ---- real64 ----

    subroutine allreduce_real64(name, x, op, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        real(real64), intent(inout), contiguous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        call reduce(name, c_loc(x), size(x, kind=c_int64_t), HVD_FLOAT64, op, ierr, process_set, prescale, postscale)
    end subroutine

    subroutine allreduce_async_real64(name, x, op, handle, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        real(real64), intent(inout), asynchronous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer(c_int64_t), intent(out) :: handle
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        handle = -1
        if (.not. is_contiguous(x)) then
            call refuse('hvd_allreduce_async: the array is not contiguous', ierr)
        else
            call reduce_start(name, c_loc(x), size(x, kind=c_int64_t), HVD_FLOAT64, op, handle, ierr, &
                process_set, prescale, postscale)
        end if
    end subroutine

    subroutine broadcast_real64(name, x, root, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real64), intent(inout), contiguous, target :: x(..)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call copy_from(name, c_loc(x), size(x, kind=c_int64_t), HVD_FLOAT64, root, ierr, process_set)
    end subroutine

    subroutine allgather_real64(name, input, output, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real64), intent(in), contiguous, target :: input(..)
        real(real64), allocatable, intent(out) :: output(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        real(real64), pointer :: all(:)
        call gather(name, c_loc(input), size(input, kind=c_int64_t), HVD_FLOAT64, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        call c_result_free(result)
    end subroutine

    subroutine alltoall_real64(name, input, splits, output, received, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real64), intent(in), contiguous, target :: input(..)
        integer(c_int64_t), intent(in), target :: splits(:)
        real(real64), allocatable, intent(out) :: output(:)
        integer(c_int64_t), allocatable, intent(out), optional :: received(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        real(real64), pointer :: all(:)
        call exchange(name, c_loc(input), size(input, kind=c_int64_t), splits, HVD_FLOAT64, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        if (present(received)) received = rows_of(result)
        call c_result_free(result)
    end subroutine

    subroutine reducescatter_real64(name, input, output, op, ierr, process_set)
        character(len=*), intent(in) :: name
        real(real64), intent(in), contiguous, target :: input(..)
        real(real64), intent(inout), contiguous, target :: output(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call reduce_share(name, c_loc(input), size(input, kind=c_int64_t), c_loc(output), &
            size(output, kind=c_int64_t) * storage_size(output) / 8, HVD_FLOAT64, op, ierr, process_set)
    end subroutine

    ! ---- int32 ----

    subroutine allreduce_int32(name, x, op, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), contiguous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        call reduce(name, c_loc(x), size(x, kind=c_int64_t), HVD_INT32, op, ierr, process_set, prescale, postscale)
    end subroutine

    subroutine allreduce_async_int32(name, x, op, handle, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), asynchronous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer(c_int64_t), intent(out) :: handle
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        handle = -1
        if (.not. is_contiguous(x)) then
            call refuse('hvd_allreduce_async: the array is not contiguous', ierr)
        else
            call reduce_start(name, c_loc(x), size(x, kind=c_int64_t), HVD_INT32, op, handle, ierr, &
                process_set, prescale, postscale)
        end if
    end subroutine

    subroutine broadcast_int32(name, x, root, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), contiguous, target :: x(..)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call copy_from(name, c_loc(x), size(x, kind=c_int64_t), HVD_INT32, root, ierr, process_set)
    end subroutine

    subroutine allgather_int32(name, input, output, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int32), intent(in), contiguous, target :: input(..)
        integer(int32), allocatable, intent(out) :: output(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        integer(int32), pointer :: all(:)
        call gather(name, c_loc(input), size(input, kind=c_int64_t), HVD_INT32, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        call c_result_free(result)
    end subroutine

    subroutine alltoall_int32(name, input, splits, output, received, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int32), intent(in), contiguous, target :: input(..)
        integer(c_int64_t), intent(in), target :: splits(:)
        integer(int32), allocatable, intent(out) :: output(:)
        integer(c_int64_t), allocatable, intent(out), optional :: received(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        integer(int32), pointer :: all(:)
        call exchange(name, c_loc(input), size(input, kind=c_int64_t), splits, HVD_INT32, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        if (present(received)) received = rows_of(result)
        call c_result_free(result)
    end subroutine

    subroutine reducescatter_int32(name, input, output, op, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int32), intent(in), contiguous, target :: input(..)
        integer(int32), intent(inout), contiguous, target :: output(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call reduce_share(name, c_loc(input), size(input, kind=c_int64_t), c_loc(output), &
            size(output, kind=c_int64_t) * storage_size(output) / 8, HVD_INT32, op, ierr, process_set)
    end subroutine

    ! ---- int64 ----

    subroutine allreduce_int64(name, x, op, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), contiguous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        call reduce(name, c_loc(x), size(x, kind=c_int64_t), HVD_INT64, op, ierr, process_set, prescale, postscale)
    end subroutine

    subroutine allreduce_async_int64(name, x, op, handle, ierr, process_set, prescale, postscale)
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), asynchronous, target :: x(..)
        integer(c_int), intent(in) :: op
        integer(c_int64_t), intent(out) :: handle
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        real(c_double), intent(in), optional :: prescale, postscale
        handle = -1
        if (.not. is_contiguous(x)) then
            call refuse('hvd_allreduce_async: the array is not contiguous', ierr)
        else
            call reduce_start(name, c_loc(x), size(x, kind=c_int64_t), HVD_INT64, op, handle, ierr, &
                process_set, prescale, postscale)
        end if
    end subroutine

    subroutine broadcast_int64(name, x, root, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), contiguous, target :: x(..)
        integer, intent(in) :: root
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call copy_from(name, c_loc(x), size(x, kind=c_int64_t), HVD_INT64, root, ierr, process_set)
    end subroutine

    subroutine allgather_int64(name, input, output, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int64), intent(in), contiguous, target :: input(..)
        integer(int64), allocatable, intent(out) :: output(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        integer(int64), pointer :: all(:)
        call gather(name, c_loc(input), size(input, kind=c_int64_t), HVD_INT64, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        call c_result_free(result)
    end subroutine

    subroutine alltoall_int64(name, input, splits, output, received, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int64), intent(in), contiguous, target :: input(..)
        integer(c_int64_t), intent(in), target :: splits(:)
        integer(int64), allocatable, intent(out) :: output(:)
        integer(c_int64_t), allocatable, intent(out), optional :: received(:)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        type(hvd_result) :: result
        integer(int64), pointer :: all(:)
        call exchange(name, c_loc(input), size(input, kind=c_int64_t), splits, HVD_INT64, result, ierr, process_set)
        if (c_associated(result%data)) then
            call c_f_pointer(result%data, all, [result%dim0])
            output = all
        else
            allocate (output(0))
        end if
        if (present(received)) received = rows_of(result)
        call c_result_free(result)
    end subroutine

    subroutine reducescatter_int64(name, input, output, op, ierr, process_set)
        character(len=*), intent(in) :: name
        integer(int64), intent(in), contiguous, target :: input(..)
        integer(int64), intent(inout), contiguous, target :: output(..)
        integer(c_int), intent(in) :: op
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in), optional :: process_set
        call reduce_share(name, c_loc(input), size(input, kind=c_int64_t), c_loc(output), &
            size(output, kind=c_int64_t) * storage_size(output) / 8, HVD_INT64, op, ierr, process_set)
    end subroutine
end module hvd
